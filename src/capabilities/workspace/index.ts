import { join } from 'node:path';
import { defineCapability } from '../../core/capability.js';
import type { OwnedData } from '../../core/page.js';
import { PROGRAMS } from '../../core/program.js';
import { offer } from '../../core/service.js';
import { off, type ToolFamily } from '../../core/tool-family.js';
import { DISK } from '../../disk/disk.js';
import { openCommands, serviceFetch, type WorkspaceContext } from './commands.js';
import { SandboxedPrograms } from './exec/index.js';
import { UnfinishedWrites, createFsTools, createOwnedFiles } from './fs/index.js';
import { httpTool } from './requests/index.js';
import { WORKSPACE_SENTENCES } from './sentences.js';
import { WORKSPACE_SETTINGS } from './settings.js';

/** Files and commands in the folders of the workspace, and requests to services. */
export const workspace = defineCapability({
  name: 'workspace',
  settings: WORKSPACE_SETTINGS,
  sentences: WORKSPACE_SENTENCES,
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

async function openFiles({ settings, node, services }: WorkspaceContext): Promise<ToolFamily> {
  const { enabled, ...limits } = settings['tools.fs'];
  if (!enabled) return off('fs');
  const unfinished = new UnfinishedWrites(join(node.home, 'unfinished-writes'));
  await unfinished.removeLeft();
  const tools = createFsTools({ ...services.require(DISK), unfinished, ...limits });
  return { name: 'fs', state: 'on', tools };
}

function openRequests(context: WorkspaceContext): ToolFamily {
  const { enabled, timeoutSeconds } = context.settings['tools.http'];
  if (!enabled) return off('http');
  return { name: 'http', state: 'on', tools: [httpTool(serviceFetch(context), timeoutSeconds)] };
}
