import { realpath, stat } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import type { Tool } from '../../core/tool.js';
import { defineTool } from '../../core/tool.js';
import { readArchive } from './archive.js';
import type { SkillFile } from './files.js';
import { readFolder, readInside, SKILL_MAX_BYTES } from './files.js';
import type { SkillShelf } from './shelf.js';
import { welcome } from './skill-tool.js';

const IMPORT_TIME_MS = 120_000;
const PATH_MAX = 4_096;

const importSchema = z.strictObject({
  path: z
    .string()
    .min(1)
    .max(PATH_MAX)
    .describe('A folder with a SKILL.md, or a .zip, .skill or .tar.gz of one, in the workspace'),
  replace: z.boolean().optional().describe('Put it in the place of the one with this name'),
});

export function importSkillTool(shelf: SkillShelf, roots: readonly string[]): Tool {
  return defineTool({
    name: 'import_skill',
    description:
      'Takes over a skill from a folder or an archive of the workspace, as a skill of this user. Links, and paths that leave it, are refused.',
    schema: importSchema,
    effect: 'keyed',
    danger: () => 'moderate',
    timeoutMs: () => IMPORT_TIME_MS,
    examples: [{ text: 'import the skill {path}' }, { text: 'import the skill from {path}' }],
    async execute({ path, replace = false }, { tenant, owner }) {
      const files = await filesAt(path, roots);
      // Somebody else wrote it, whoever put it there.
      const kept = await shelf.keep({ tenant, owner }, files, { replace, fromOutside: true });
      return { content: welcome(kept) };
    },
  });
}

async function filesAt(path: string, roots: readonly string[]): Promise<readonly SkillFile[]> {
  const place = await insideWorkspace(path, roots);
  if ((await stat(place)).isDirectory()) return readFolder(place);
  const archive = await readInside(dirname(place), place.slice(dirname(place).length + 1), SKILL_MAX_BYTES);
  return readArchive(archive.content);
}

/** The real path. Rejects with `not-found` for what is not in the workspace, wherever it may be. */
async function insideWorkspace(path: string, roots: readonly string[]): Promise<string> {
  const real = await realpath(resolve(roots[0] ?? '/', path)).catch(() => undefined);
  const limits = await Promise.all(roots.map((root) => realpath(root).catch(() => undefined)));
  if (real !== undefined && limits.some((limit) => limit !== undefined && real.startsWith(limit + sep)))
    return real;
  throw new LangoError(
    'not-found',
    `path: there is no ${JSON.stringify(path.slice(0, 200))} in the workspace`,
  );
}
