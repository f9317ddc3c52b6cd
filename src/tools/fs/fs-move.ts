import { rename } from 'node:fs/promises';
import { z } from 'zod';
import { isLangoError, LangoError } from '../../core/errors.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { pathField, type PathArgument } from './paths.js';
import { describeType, syncFolder } from './files.js';
import { missing, type Spot, type Visit, type Workspace } from './workspace.js';

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
      workspace.change(subject(input), async (visit) => {
        signal.throwIfAborted();
        const from = await visit.spot(fromArgument(input), { follow: false, make: false });
        if (from.place === undefined) throw missing(fromArgument(input));
        assertMovable(visit, from, input);
        const to = await findTarget(visit, input, from.name);
        if (to.path === from.path)
          throw new LangoError('invalid-input', 'to: it is where it stands already.');
        assertFree(visit, to, input);
        await rename(`${from.folder.at}/${from.name}`, `${to.folder.at}/${to.name}`);
        await syncFolder(from.folder);
        await syncFolder(to.folder);
        return { content: `moved ${visit.show(from.path)} to ${visit.show(to.path)}` };
      }),
    settle: (input) =>
      workspace.visit(subject(input), async (visit) => {
        if ((await look(visit, fromArgument(input))) !== undefined) return undefined;
        const target = await look(visit, toArgument(input));
        if (target !== undefined) return { content: `moved ${input.from} to ${visit.show(target.path)}` };
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

function assertMovable(visit: Visit, { path }: Spot, { from }: MoveInput): void {
  if (!visit.holdsRoot(path)) return;
  throw new LangoError('forbidden', `from: "${from}" holds the workspace; name something inside it.`);
}

/** `to` itself, or the name in the folder that it is. */
async function findTarget(visit: Visit, input: MoveInput, name: string): Promise<Spot> {
  const argument = toArgument(input);
  const found = await look(visit, argument);
  const folder = found?.stats.isDirectory() ? found : undefined;
  if (folder === undefined) return visit.spot(argument, { follow: false, make: true });
  return { folder, name, path: `${folder.path}/${name}`, place: await visit.child(folder, name) };
}

function assertFree(visit: Visit, { path, place }: Spot, { overwrite }: MoveInput): void {
  if (place === undefined) return;
  const stands = `to: "${visit.show(path)}" is ${describeType(place)} already`;
  if (place.stats.isDirectory()) throw new LangoError('conflict', `${stands}; choose another name.`);
  if (overwrite !== true) {
    throw new LangoError('conflict', `${stands}; choose another name, or set overwrite to true.`);
  }
}

/** What stands at a path; undefined when nothing does, or no folder leads there. */
async function look(visit: Visit, argument: PathArgument) {
  try {
    return await visit.find(argument);
  } catch (error) {
    if (isLangoError(error, 'not-found')) return undefined;
    throw error;
  }
}
