import { join } from 'node:path';
import { defineCapability, type SentenceRow } from '../../core/capability.js';
import type { OwnedData } from '../../core/page.js';
import { PROGRAMS } from '../../core/program.js';
import { offer } from '../../core/service.js';
import { off, on, type ToolFamily } from '../../core/tool-family.js';
import { DISK } from '../../disk/disk.js';
import { openCommands, serviceFetch, type WorkspaceContext } from './commands.js';
import { SandboxedPrograms } from './exec/index.js';
import { UnfinishedWrites, createFsTools, createOwnedFiles } from './fs/index.js';
import { httpTool } from './requests.js';
import { WORKSPACE_SETTINGS } from './settings.js';

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

async function openFiles({ settings, node, services }: WorkspaceContext): Promise<ToolFamily> {
  const { enabled, ...limits } = settings['tools.fs'];
  if (!enabled) return off('fs');
  const unfinished = new UnfinishedWrites(join(node.home, 'unfinished-writes'));
  await unfinished.removeLeft();
  return on('fs', createFsTools({ ...services.require(DISK), unfinished, ...limits }));
}

function openRequests(context: WorkspaceContext): ToolFamily {
  const { enabled, timeoutSeconds } = context.settings['tools.http'];
  if (!enabled) return off('http');
  return on('http', [httpTool(serviceFetch(context), timeoutSeconds)]);
}
