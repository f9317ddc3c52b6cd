import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.js';
import { pathArgument, pathField } from './fields.js';
import { MODE_BITS, typeOf } from './files.js';
import type { Workspace } from './workspace.js';

const STAT_TIME_MS = 10_000;

const statSchema = z.strictObject({ path: pathField('The file or folder') });

export function statTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'fs_stat',
    description: 'Tells what stands at a path: its type, size in bytes, time of the last change, and mode.',
    schema: statSchema,
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => STAT_TIME_MS,
    examples: [
      { text: 'how big is the file {path}' },
      { text: 'what is the size of the file {path}' },
      { text: 'when was the file {path} changed' },
      { text: 'does the file {path} exist' },
      { text: 'is there a file {path}' },
    ],
    execute: ({ path }) =>
      workspace.visit(pathArgument(path), async (visit) => {
        const place = await visit.find(pathArgument(path));
        const { size, mtime, mode } = place.stats;
        return {
          content: {
            path: visit.show(place.path),
            type: typeOf(place),
            bytes: size,
            modified: mtime.toISOString(),
            mode: (mode & MODE_BITS).toString(8).padStart(4, '0'),
          },
        };
      }),
  });
}
