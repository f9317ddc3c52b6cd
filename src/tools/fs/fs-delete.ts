import { opendir, rmdir, unlink } from 'node:fs/promises';
import { z } from 'zod';
import { codeOf, isLangoError, LangoError } from '../../core/errors.js';
import { counted } from '../../core/text.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { syncFolder } from './files.js';
import { pathArgument, pathField, type Place } from './paths.js';
import { missing, type Spot, type Visit, type Workspace } from './workspace.js';

const DELETE_TIME_MS = 60_000;

const schema = z.strictObject({
  path: pathField('The file or folder'),
  recursive: z.boolean().optional().describe('Delete a folder with everything in it'),
});

export function deleteTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'fs_delete',
    description:
      'Deletes a file, a symbolic link (not what it leads to), or an empty folder. A folder that holds ' +
      'something is deleted only with recursive: true. There is no way back.',
    schema,
    effect: 'queryable',
    // One named file is no more than fs_write could overwrite; a tree is more than anybody has looked at.
    danger: ({ recursive }) => (recursive === true ? 'dangerous' : 'moderate'),
    timeoutMs: () => DELETE_TIME_MS,
    examples: [
      { text: 'delete {path}' },
      { text: 'delete the file {path}' },
      { text: 'rm {path}' },
      { text: 'delete the folder {path} with everything in it', arguments: { recursive: true } },
    ],
    execute: ({ path, recursive = false }, { signal }) =>
      workspace.change(pathArgument(path), async (visit) => {
        signal.throwIfAborted();
        const spot = await visit.spot(pathArgument(path), { follow: false, make: false });
        if (spot.place === undefined) throw missing(pathArgument(path));
        if (visit.holdsRoot(spot.path)) {
          throw new LangoError('forbidden', `path: "${path}" holds the workspace; name something inside it.`);
        }
        const entries = recursive ? await clearFolder(visit, spot.place, signal) : 0;
        await removeSpot(spot, visit.show(spot.path));
        await syncFolder(spot.folder);
        const content = entries === 0 ? '' : ` with ${counted(entries, 'thing')} in it`;
        return { content: `deleted ${visit.show(spot.path)}${content}` };
      }),
    settle: ({ path }) =>
      workspace.visit(pathArgument(path), async (visit) => {
        const spot = await visit
          .spot(pathArgument(path), { follow: false, make: false })
          .catch((error: unknown) => {
            if (isLangoError(error, 'not-found')) return undefined;
            throw error;
          });
        return spot?.place === undefined ? { content: `deleted ${path}` } : undefined;
      }),
  });
}

/** How many things were deleted. Each folder is held while it is emptied: no link can lead out of it. */
async function clearFolder(visit: Visit, folder: Place, signal: AbortSignal): Promise<number> {
  if (!folder.stats.isDirectory()) return 0;
  let deleted = 0;
  for await (const { name } of await opendir(folder.at)) {
    signal.throwIfAborted();
    const place = await visit.child(folder, name);
    if (place === undefined) continue;
    deleted += 1 + (await clearFolder(visit, place, signal));
    await remove(place, `${folder.at}/${name}`);
    await visit.release(place);
  }
  return deleted;
}

async function removeSpot({ folder, name, place }: Spot, shown: string): Promise<void> {
  try {
    await remove(place!, `${folder.at}/${name}`);
  } catch (error) {
    if (codeOf(error) !== 'ENOTEMPTY') throw error;
    const advice = 'recursive: true deletes it with everything in it';
    throw new LangoError('conflict', `path: "${shown}" is a folder that is not empty; ${advice}.`, {
      cause: error,
    });
  }
}

function remove({ stats }: Place, at: string): Promise<void> {
  return stats.isDirectory() ? rmdir(at) : unlink(at);
}
