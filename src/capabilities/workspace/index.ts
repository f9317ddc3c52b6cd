import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isLoopback } from '../../core/addresses.js';
import { defineCapability, type CapabilityContext, type SentenceRow } from '../../core/capability.js';
import { MIB } from '../../core/fields.js';
import type { OwnedData } from '../../core/page.js';
import { PROGRAMS } from '../../core/program.js';
import { noSecrets, SECRETS, type SecretGuard } from '../../core/secrets.js';
import { offer } from '../../core/service.js';
import { missing, off, on, type NodeFinding, type ToolFamily } from '../../core/tool-family.js';
import { DISK, READABLE_FOLDERS } from '../../disk/disk.js';
import { createExec, findSandbox, openCommandGroups, SandboxedPrograms } from './exec/index.js';
import type { ExecOptions } from './exec/index.js';
import { UnfinishedWrites, createFsTools, createOwnedFiles } from './fs/index.js';
import { assertApproved, httpTool } from './requests.js';
import { WORKSPACE_SETTINGS } from './settings.js';

type Context = CapabilityContext<typeof WORKSPACE_SETTINGS>;

const SECRET = '{{secret:{name}}}';
const HEADER = { headers: { '{header}': SECRET } };

const SENTENCES: readonly SentenceRow[] = [
  ['list the files', 'fs_list'],
  ['which files are there?', 'fs_list'],
  ['ls', 'fs_list'],
  ['list the files in {path}', 'fs_list'],
  ['list all files', 'fs_list', { recursive: true }],
  ['read {path}', 'fs_read'],
  ['read the file {path}', 'fs_read'],
  ['show the file {path}', 'fs_read'],
  ['what is in the file {path}?', 'fs_read'],
  ['write {content...} to {path}', 'fs_write'],
  ['write {content...} into {path}', 'fs_write'],
  ['create a file {path} with {content...}', 'fs_write'],
  ['append {content...} to {path}', 'fs_write', { mode: 'append' }],
  ['replace {oldText} with {newText} in {path}', 'fs_edit'],
  ['search for {pattern...}', 'fs_search'],
  ['search for {pattern...} in {path}', 'fs_search'],
  ['how big is the file {path}?', 'fs_list'],
  ['does the file {path} exist?', 'fs_list'],
  ['create a folder {path}', 'fs_write', { mode: 'folder' }],
  ['move {from} to {to}', 'fs_move'],
  ['rename {from} to {to}', 'fs_move'],
  ['delete {path}', 'fs_delete'],
  ['delete the file {path}', 'fs_delete'],
  ['rm {path}', 'fs_delete'],
  ['delete the folder {path} with everything in it', 'fs_delete', { recursive: true }],
  ['run {command...}', 'exec'],
  ['run {command...} with the secret {name} as {variable}', 'exec', { env: { '{variable}': SECRET } }],
  ['start {command...} in the background', 'exec_background', { action: 'start' }],
  ['show the running processes', 'exec_background', { action: 'status' }],
  ['is process {id} still running?', 'exec_background', { action: 'status' }],
  ['show the output of process {id}', 'exec_background', { action: 'output' }],
  ['stop process {id}', 'exec_background', { action: 'stop' }],
  ['request {url}', 'http_request'],
  ['request {url} with the secret {name} as the header {header}', 'http_request', HEADER],
];

/** Files and commands in the folders of the workspace, and requests to services. */
export const workspace = defineCapability({
  name: 'workspace',
  settings: WORKSPACE_SETTINGS,
  sentences: SENTENCES,
  forgets: { file: 'files' },
  open(context) {
    const { settings, services } = context;
    return {
      offers: [offer(PROGRAMS, async () => new SandboxedPrograms(settings['tools.exec']))],
      get ownedData(): OwnedData | undefined {
        const disk = services.require(DISK);
        return disk.folders.isApart ? createOwnedFiles(disk) : undefined;
      },
      families: async () => [
        ...(await Promise.all([openCommands(context), openFiles(context)])),
        openRequests(context),
      ],
    };
  },
});

async function openFiles({ settings, node, services }: Context): Promise<ToolFamily> {
  const { enabled, ...limits } = settings['tools.fs'];
  if (!enabled) return off('fs');
  const unfinished = new UnfinishedWrites(join(node.home, 'unfinished-writes'));
  await unfinished.removeLeft();
  return on('fs', createFsTools({ ...services.require(DISK), unfinished, ...limits }));
}

function openRequests(context: Context): ToolFamily {
  const { enabled, timeoutSeconds } = context.settings['tools.http'];
  if (!enabled) return off('http');
  return on('http', [httpTool(serviceFetch(context), timeoutSeconds)]);
}

const APART_HINT =
  'Without a sandbox, commands would reach the files of all owners. Install one, or set disk.workspaces: shared.';

/** Opens the tools that run commands, in a sandbox where there is one. Commands may read the skills of their owner. */
async function openCommands(context: Context): Promise<ToolFamily> {
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
  const bytes = groups?.bytes;
  const memory = bytes === undefined ? '' : `, and have ${Math.floor(bytes / MIB)} MiB of memory together`;
  const finding: NodeFinding = problem
    ? { ...problem, subject: 'sandbox', state: 'warn' }
    : { code: 'sandboxed', subject: 'sandbox', state: 'ok', text: `commands run in one${memory}` };
  return { ...on('exec', exec.tools), findings: [finding], close: () => exec.close() };
}

/** The longest data folder whose sockets have addresses of at most 107 bytes (unix(7)). */
const LONGEST_HOME = 75;

/** Requests of commands are sent like those of `http_request`, with the secrets of the command's owner. */
async function createForwarderOpener(
  context: Context,
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
function serviceFetch({ settings, createFetch }: Context): typeof fetch {
  const { timeoutSeconds, answerBytes } = settings['tools.http'];
  return createFetch({ timeoutMs: timeoutSeconds * 1_000, maxBytes: answerBytes });
}
