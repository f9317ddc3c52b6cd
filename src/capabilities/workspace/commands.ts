import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isLoopback } from '../../core/addresses.js';
import type { CapabilityContext } from '../../core/capability.js';
import { noSecrets, SECRETS, type SecretGuard } from '../../core/secrets.js';
import { missing, off, on, type NodeFinding, type ToolFamily } from '../../core/tool-family.js';
import { DISK, READABLE_FOLDERS } from '../../disk/disk.js';
import type { CommandGroups } from './exec/cgroup.js';
import { createExec, findSandbox, openCommandGroups, type ExecOptions } from './exec/index.js';
import { assertApproved } from './requests.js';
import type { WORKSPACE_SETTINGS } from './settings.js';

export type WorkspaceContext = CapabilityContext<typeof WORKSPACE_SETTINGS>;

const APART_HINT =
  'Without a sandbox, commands would reach the files of all owners. Install one, or set disk.workspaces: shared.';

/** Opens the tools that run commands, in a sandbox where there is one. Commands may read the skills of their owner. */
export async function openCommands(context: WorkspaceContext): Promise<ToolFamily> {
  const { settings, node, services, logger } = context;
  const { enabled, sandbox: mode, network, envAllow, ...limits } = settings['tools.exec'];
  if (!enabled) return off('exec');
  const disk = services.require(DISK);
  const { sandbox, reason = '' } = await findSandbox(mode, disk.folders.roots);
  if (!sandbox && disk.folders.isApart) return missing('exec', { message: reason, hint: APART_HINT });
  const { guard = noSecrets } = (await services.find(SECRETS)?.()) ?? {};
  const groups = await openCommandGroups();
  const exec = createExec({
    ...disk,
    ...{ sandbox, groups },
    network,
    environment: node.environment,
    envAllow,
    limits,
    readable: services.find(READABLE_FOLDERS),
    openForwarder: await createForwarderOpener(context, guard),
    scrubber: (scope) => guard.scrubber(scope),
    logger,
  });
  const isAsked = node.needsApproval('exec');
  const approval = isAsked ? 'so each one waits for approval' : 'and approval.policy asks nobody';
  const problem = sandbox
    ? sandbox.lacks && { code: 'weak-sandbox', text: `this machine lacks ${sandbox.lacks}` }
    : { code: 'no-sandbox', text: `commands run without a sandbox, ${approval}: ${reason}` };
  const finding: NodeFinding = problem
    ? { ...problem, subject: 'sandbox', state: 'warn' }
    : {
        code: 'sandboxed',
        subject: 'sandbox',
        state: 'ok',
        text: `commands run in one${memoryText(groups)}`,
      };
  return { ...on('exec', exec.tools), findings: [finding], close: () => exec.close() };
}

function memoryText(groups: CommandGroups | undefined): string {
  if (groups?.bytes === undefined) return '';
  return `, and have ${Math.floor(groups.bytes / 1024 ** 2)} MiB of memory together`;
}

/** The longest data folder whose sockets have addresses of at most 107 bytes (unix(7)). */
const LONGEST_HOME = 75;

/** Requests of commands are sent like those of `http_request`, with the secrets of the command's owner. */
async function createForwarderOpener(
  context: WorkspaceContext,
  guard: SecretGuard,
): Promise<ExecOptions['openForwarder']> {
  const { settings, node } = context;
  if (guard === noSecrets || !settings['tools.http'].enabled) return undefined;
  const folder = node.home.length > LONGEST_HOME ? tmpdir() : join(node.home, 'run');
  if (folder !== tmpdir()) await rm(folder, { recursive: true, force: true });
  const webFetch = serviceFetch(context);
  return async (scope, { tool, changes }) => {
    const rules = {
      asksForRequests: node.needsApproval('http_request'),
      asksForCommand: node.needsApproval(tool),
      changes,
    };
    const { openForwarder } = await import('../../http/forwarder.js');
    const scrubber = guard.scrubber(scope);
    return openForwarder({
      ...{ folder, webFetch, isLocal: isLoopback, scrubber },
      permit: (request) => assertApproved(request, rules),
      resolve: (text, host, use) => guard.resolve(scope, text, { tool, place: 'http', host, ...use }),
    });
  };
}

/** Requests to services, for `http_request` and for commands. */
export function serviceFetch({ settings, createFetch }: WorkspaceContext): typeof fetch {
  const { timeoutSeconds, answerBytes } = settings['tools.http'];
  return createFetch({ timeoutMs: timeoutSeconds * 1_000, maxBytes: answerBytes });
}
