import { rename } from 'node:fs/promises';
import { z } from 'zod';
import { isLangoError, LangoError } from '../../core/errors.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { pathField, type PathArgument } from './paths.js';
import { describeType, syncFolder } from './files.js';
import { missingPath, type PathTarget, type WorkspaceAccess, type Workspace } from './workspace.js';

const MOVE_TIME_MS = 30_000;

const schema = z.strictObject({
  from: pathField('What to move'),
  to: pathField('Its new path, or the folder to move it into'),
  overwrite: z.boolean().optional().describe('Replace a file that stands there already; never a folder'),
});

type MoveInput = z.infer<typeof schema>;

export function moveTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'fs_move',
    description:
      'Moves or renames a file or folder. When "to" is a folder that exists, it goes into that. Refuses to ' +
      'replace a file unless overwrite is true.',
    schema,
    effect: 'queryable',
    danger: () => 'moderate',
    timeoutMs: () => MOVE_TIME_MS,
    examples: [
      { text: 'move {from} to {to}' },
      { text: 'move {from} into {to}' },
      { text: 'rename {from} to {to}' },
      { text: 'mv {from} {to}' },
    ],
    execute: (input, { signal }) =>
      workspace.change(subject(input), async (access) => {
        signal.throwIfAborted();
        const from = await access.target(fromArgument(input), { follow: false, make: false });
        if (from.existing === undefined) throw missingPath(fromArgument(input));
        assertMovable(access, from, input);
        const to = await findTarget(access, input, from.name);
        if (to.path === from.path)
          throw new LangoError('invalid-input', 'to: it is where it stands already.');
        assertFree(access, to, input);
        await rename(`${from.folder.at}/${from.name}`, `${to.folder.at}/${to.name}`);
        await syncFolder(from.folder);
        await syncFolder(to.folder);
        return { content: `moved ${access.displayPath(from.path)} to ${access.displayPath(to.path)}` };
      }),
    settle: (input) =>
      workspace.read(subject(input), async (access) => {
        if ((await findOptional(access, fromArgument(input))) !== undefined) return undefined;
        const target = await findOptional(access, toArgument(input));
        if (target !== undefined)
          return { content: `moved ${input.from} to ${access.displayPath(target.path)}` };
        throw new LangoError('outcome-unknown', 'Neither from nor to exists: somebody else has moved it on.');
      }),
  });
}

function subject({ from, to }: MoveInput): PathArgument {
  return { name: 'from, to', value: `${from}, ${to}` };
}

function fromArgument({ from }: MoveInput): PathArgument {
  return { name: 'from', value: from };
}

function toArgument({ to }: MoveInput): PathArgument {
  return { name: 'to', value: to };
}

function assertMovable(access: WorkspaceAccess, { path }: PathTarget, { from }: MoveInput): void {
  if (!access.containsRoot(path)) return;
  throw new LangoError('forbidden', `from: "${from}" holds the workspace; name something inside it.`);
}

/** `to` itself, or the name in the folder that it is. */
async function findTarget(access: WorkspaceAccess, input: MoveInput, name: string): Promise<PathTarget> {
  const argument = toArgument(input);
  const found = await findOptional(access, argument);
  const folder = found?.stats.isDirectory() ? found : undefined;
  if (folder === undefined) return access.target(argument, { follow: false, make: true });
  return { folder, name, path: `${folder.path}/${name}`, existing: await access.child(folder, name) };
}

function assertFree(
  access: WorkspaceAccess,
  { path, existing: opened }: PathTarget,
  { overwrite }: MoveInput,
): void {
  if (opened === undefined) return;
  const stands = `to: "${access.displayPath(path)}" is ${describeType(opened)} already`;
  if (opened.stats.isDirectory()) throw new LangoError('conflict', `${stands}; choose another name.`);
  if (overwrite !== true) {
    throw new LangoError('conflict', `${stands}; choose another name, or set overwrite to true.`);
  }
}

/** What stands at a path; undefined when nothing does, or no folder leads there. */
async function findOptional(access: WorkspaceAccess, argument: PathArgument) {
  try {
    return await access.find(argument);
  } catch (error) {
    if (isLangoError(error, 'not-found')) return undefined;
    throw error;
  }
}
