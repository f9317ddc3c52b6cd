import { rename } from 'node:fs/promises';
import { z } from 'zod';
import { LangoError } from '../../../core/errors.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { pathField, undefinedIfMissing, type PathArgument } from './paths.js';
import { describeType, syncFolder } from './files.js';
import type { PathTarget, WorkspaceAccess, Workspace } from './workspace.js';

const schema = z.strictObject({
  from: pathField(),
  to: pathField('The new path, or a folder to move it into'),
  overwrite: z.boolean().optional(),
});

type MoveInput = z.infer<typeof schema>;

export function moveTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'fs_move',
    description:
      'Moves or renames a file or folder. Replaces an existing file only with overwrite: true, and no folder.',
    schema,
    isRare: true,
    effect: 'queryable',
    danger: 'moderate',
    execute: (input, context) =>
      workspace.change(context, bothArguments(input), async (access) => {
        context.signal.throwIfAborted();
        const from = await access.removable(argumentOf('from', input));
        const to = await findTarget(access, input, from.name);
        if (to.path === from.path)
          throw new LangoError('invalid-input', 'to: it is the current path, so there is nothing to move.');
        assertFree(access, to, input);
        await rename(`${from.folder.at}/${from.name}`, `${to.folder.at}/${to.name}`);
        await syncFolder(from.folder);
        await syncFolder(to.folder);
        return { content: `moved ${access.displayPath(from.path)} to ${access.displayPath(to.path)}` };
      }),
    settle: (input, context) =>
      workspace.read(context, bothArguments(input), async (access) => {
        if (await access.find(argumentOf('from', input)).catch(undefinedIfMissing)) return undefined;
        const target = await access.find(argumentOf('to', input)).catch(undefinedIfMissing);
        if (target) return { content: `moved ${input.from} to ${access.displayPath(target.path)}` };
        const problem = 'Neither from nor to exists: another program has moved or deleted it.';
        throw new LangoError('outcome-unknown', problem);
      }),
  });
}

function bothArguments({ from, to }: MoveInput): PathArgument {
  return { name: 'from, to', value: `${from}, ${to}` };
}

function argumentOf(name: 'from' | 'to', input: MoveInput): PathArgument {
  return { name, value: input[name] };
}

/** Returns `to` itself, or the name of the moved entry inside `to` when that is a folder. */
async function findTarget(access: WorkspaceAccess, input: MoveInput, name: string): Promise<PathTarget> {
  const argument = argumentOf('to', input);
  const folder = await access.find(argument).catch(undefinedIfMissing);
  if (!folder?.stats.isDirectory()) return access.target(argument, { follow: false, make: true });
  return { folder, name, path: `${folder.path}/${name}`, existing: await access.child(folder, name) };
}

function assertFree(access: WorkspaceAccess, { path, existing }: PathTarget, { overwrite }: MoveInput): void {
  if (existing === undefined) return;
  const problem = `to: "${access.displayPath(path)}" is already ${describeType(existing)}`;
  if (existing.stats.isDirectory()) throw new LangoError('conflict', `${problem}; choose another name.`);
  if (overwrite !== true)
    throw new LangoError('conflict', `${problem}; choose another name, or set overwrite to true.`);
}
