import { readlink } from 'node:fs/promises';
import { z } from 'zod';
import type { JsonObject } from '../../../core/json.js';
import { counted } from '../../../core/text.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { describeType, MODE_BITS, typeOf } from './files.js';
import type { OpenPath } from '../../../disk/open-path.js';
import { pathArgument, pathField } from './paths.js';
import { walkTree, type TreeEntry } from './tree.js';
import type { WorkspaceAccess, Workspace } from './workspace.js';

const LIMIT_DEFAULT = 200;
const LIMIT_MAX = 2_000;

export function listTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'fs_list',
    description:
      'Lists a folder, files with their size. For a file, or with itself: true, returns type, size, time and mode.',
    schema: z.strictObject({
      path: pathField('The workspace by default').optional(),
      recursive: z.boolean().optional().describe('With subfolders, except .git and node_modules'),
      itself: z.boolean().optional(),
      limit: z.number().int().min(1).max(LIMIT_MAX).optional(),
    }),
    effect: 'pure',
    execute: ({ path = '.', recursive = false, itself, limit = LIMIT_DEFAULT }, { signal, ...scope }) =>
      workspace.read(scope, pathArgument(path), async (access) => {
        const folder = await access.find(pathArgument(path));
        const shown = access.displayPath(folder.path);
        if (itself || !folder.stats.isDirectory()) return { content: describeOne(access, folder) };
        const lines: string[] = [];
        const types: string[] = [];
        for await (const entry of walkTree(access, folder, { recursive, signal })) {
          if (lines.length === limit) {
            lines.push(`[the first ${limit} entries; there are more: list a subfolder, or raise limit]`);
            return { content: lines.join('\n') };
          }
          lines.push(await describeEntry(access, entry, recursive));
          types.push(typeOf(entry.opened));
        }
        if (lines.length === 0) return { content: `${shown === '.' ? 'The workspace' : shown} is empty.` };
        const byType = [...Map.groupBy(types, (type) => type)];
        const counts = byType.map(([type, { length }]) => counted(length, type)); // "2 files", "1 folder"
        return { content: [...lines, `[${counts.join(', ')}]`].join('\n') };
      }),
  });
}

async function describeEntry(access: WorkspaceAccess, entry: TreeEntry, recursive: boolean): Promise<string> {
  const { stats, path } = entry.opened;
  const shown = access.displayPath(path);
  if (stats.isDirectory()) return `${shown}/${recursive && !entry.isEntered ? ' (not listed)' : ''}`;
  if (stats.isFile()) return `${shown} (${counted(stats.size, 'byte')})`;
  if (!stats.isSymbolicLink()) return `${shown} (${describeType(entry.opened)})`;
  const target = await readlink(`${entry.folder.at}/${entry.name}`).catch(() => '?');
  return `${shown} (a symbolic link to ${target})`;
}

function describeOne(access: WorkspaceAccess, opened: OpenPath): JsonObject {
  const { size, mtime, mode } = opened.stats;
  return {
    path: access.displayPath(opened.path),
    type: typeOf(opened),
    bytes: size,
    modified: mtime.toISOString(),
    mode: (mode & MODE_BITS).toString(8).padStart(4, '0'),
  };
}
