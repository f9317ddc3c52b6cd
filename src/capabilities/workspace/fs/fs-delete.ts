import { opendir, rmdir, unlink } from 'node:fs/promises';
import { z } from 'zod';
import { codeOf, LangoError } from '../../../core/errors.js';
import { counted } from '../../../core/text.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { syncFolder } from './files.js';
import { bytesOnDisk } from '../../../disk/disk-use.js';
import type { OpenPath } from '../../../disk/open-path.js';
import { pathArgument, pathField, undefinedIfMissing } from './paths.js';
import type { WorkspaceAccess, Workspace } from './workspace.js';

export function deleteTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'fs_delete',
    description:
      'Deletes a file, a link (not its target) or an empty folder, for good. A folder with content needs recursive: true.',
    schema: z.strictObject({ path: pathField(), recursive: z.boolean().optional() }),
    isRare: true,
    effect: 'queryable',
    // Deleting one file does no more harm than overwriting it with fs_write. A whole tree may hold files that neither
    // the model nor the user has read.
    danger: ({ recursive }) => (recursive === true ? 'dangerous' : 'moderate'),
    execute: ({ path, recursive = false }, context) =>
      workspace.change(context, pathArgument(path), async (access) => {
        const { signal } = context;
        signal.throwIfAborted();
        const target = await access.removable(pathArgument(path));
        const onDeleted = ({ stats }: OpenPath) => workspace.budget.add(context, -bytesOnDisk(stats));
        const entries = recursive ? await clearFolder(access, target.existing, { signal, onDeleted }) : 0;
        const shown = access.displayPath(target.path);
        await remove(target.existing, `${target.folder.at}/${target.name}`).catch((cause: unknown) => {
          if (codeOf(cause) !== 'ENOTEMPTY') throw cause;
          const text = `path: "${shown}" is a folder that is not empty; recursive: true deletes it with all its content.`;
          throw new LangoError('conflict', text, { cause });
        });
        onDeleted(target.existing);
        await syncFolder(target.folder);
        const content = entries === 0 ? '' : ` with ${counted(entries, 'item')} in it`;
        return { content: `deleted ${shown}${content}` };
      }),
    settle: ({ path }, context) =>
      workspace.read(context, pathArgument(path), async (access) => {
        const found = access.target(pathArgument(path), { follow: false, make: false });
        const target = await found.catch(undefinedIfMissing);
        return target?.existing === undefined ? { content: `deleted ${path}` } : undefined;
      }),
  });
}

/**
 * Deletes the content of a folder and counts it. Each folder is held open meanwhile, so no link can lead out of it. Calls
 * `onDeleted` for each deleted entry.
 */
export async function clearFolder(
  access: WorkspaceAccess,
  folder: OpenPath,
  options: { readonly signal?: AbortSignal; readonly onDeleted?: (deleted: OpenPath) => void } = {},
): Promise<number> {
  if (!folder.stats.isDirectory()) return 0;
  let deleted = 0;
  for await (const { name } of await opendir(folder.at)) {
    options.signal?.throwIfAborted();
    const opened = await access.child(folder, name);
    if (opened === undefined) continue;
    deleted += 1 + (await clearFolder(access, opened, options));
    await remove(opened, `${folder.at}/${name}`);
    options.onDeleted?.(opened);
    await access.release(opened);
  }
  return deleted;
}

/** Deletes a file, a link or an empty folder. */
export function remove({ stats }: OpenPath, at: string): Promise<void> {
  return stats.isDirectory() ? rmdir(at) : unlink(at);
}
