import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { pathArgument, pathField } from './fields.js';
import { describeType, syncFolder } from './files.js';
import type { Workspace } from './workspace.js';

const MKDIR_TIME_MS = 10_000;

const mkdirSchema = z.strictObject({
  path: pathField('The new folder; missing folders above it are made too'),
});

export function mkdirTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'fs_mkdir',
    description: 'Makes a folder. One that is there already is fine.',
    schema: mkdirSchema,
    effect: 'keyed',
    danger: () => 'moderate',
    timeoutMs: () => MKDIR_TIME_MS,
    examples: [{ text: 'create a folder {path}' }, { text: 'mkdir {path}' }],
    execute: ({ path }, { signal }) =>
      workspace.change(pathArgument(path), async (visit) => {
        signal.throwIfAborted();
        const { folder, name, place, ...spot } = await visit.spot(pathArgument(path), {
          follow: true,
          make: true,
        });
        const shown = visit.show(spot.path);
        if (place?.stats.isDirectory()) return { content: `${shown} is there already` };
        if (place !== undefined) {
          throw new LangoError(
            'conflict',
            `path: "${shown}" is ${describeType(place)}; choose another name.`,
          );
        }
        await visit.makeFolder(folder, name);
        await syncFolder(folder);
        return { content: `made the folder ${shown}` };
      }),
  });
}
