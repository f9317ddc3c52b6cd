import { realpath, stat } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { readArchive } from './archive.js';
import { checkedPath, readFolder, readInside, SKILL_MAX_BYTES, type SkillFile } from './files.js';
import type { SkillCatalog } from './catalog.js';
import {
  DESCRIPTION_MAX_LENGTH,
  NAME_MAX_LENGTH,
  NAME_PATTERN,
  SKILL_FILE,
  toSkillText,
} from './skill-file.js';
import { savedMessage } from './skill-tool.js';

const CREATE_TIME_MS = 60_000;
const INSTRUCTIONS_MAX = 200_000;
const FILES_MAX = 50;

const createSchema = z.strictObject({
  name: z
    .string()
    .max(NAME_MAX_LENGTH)
    .regex(NAME_PATTERN, 'must be lower-case letters and digits in words joined by "-"')
    .describe('Its name, such as "release-notes"'),
  description: z
    .string()
    .trim()
    .min(1)
    .max(DESCRIPTION_MAX_LENGTH)
    .optional()
    .describe('What it does and when to use it; the first line of the instructions by default'),
  instructions: z
    .string()
    .trim()
    .min(1)
    .max(INSTRUCTIONS_MAX)
    .describe('How it is done, in Markdown, for the agent that will use it'),
  files: z
    .record(z.string(), z.string())
    .refine((files) => Object.keys(files).length <= FILES_MAX, `at most ${FILES_MAX} files`)
    .optional()
    .describe('Further text files by their path, such as "scripts/build.sh" or "references/style.md"'),
  replace: z.boolean().optional().describe('Put it in the place of the one with this name'),
});

export function createSkillTool(catalog: SkillCatalog): Tool {
  return defineTool({
    name: 'create_skill',
    description:
      'Keeps a way of doing something as a skill of this user. It can be used at once, by its name. A skill of the same name is not overwritten unless replace says so.',
    schema: createSchema,
    // The same skill again changes nothing.
    effect: 'keyed',
    danger: () => 'moderate',
    timeoutMs: () => CREATE_TIME_MS,
    async execute({ name, description, instructions, files = {}, replace = false }, context) {
      const { tenant, owner, hasReadOutside: fromOutside } = context;
      const head = description ?? firstLine(instructions);
      const text = toSkillText({ name, description: head, instructions });
      const others = Object.entries(files).map(([path, content]) => ({
        path: checkedPath(path),
        content: Buffer.from(content),
        isExecutable: content.startsWith('#!'),
      }));
      const main = { path: SKILL_FILE, content: Buffer.from(text), isExecutable: false };
      const kept = await catalog.save(
        { tenant, owner },
        [main, ...others.filter(({ path }) => path !== SKILL_FILE)],
        { replace, fromOutside },
      );
      return { content: savedMessage(kept) };
    },
  });
}

function firstLine(instructions: string): string {
  const line = instructions
    .split('\n')[0]!
    .replace(/^#+\s*/, '')
    .trim();
  return (line === '' ? instructions.trim() : line).slice(0, DESCRIPTION_MAX_LENGTH);
}

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

export function importSkillTool(catalog: SkillCatalog, roots: readonly string[]): Tool {
  return defineTool({
    name: 'import_skill',
    description:
      'Takes over a skill from a folder or an archive of the workspace, as a skill of this user. Links, and paths that leave it, are refused.',
    schema: importSchema,
    effect: 'keyed',
    danger: () => 'moderate',
    timeoutMs: () => IMPORT_TIME_MS,
    async execute({ path, replace = false }, { tenant, owner }) {
      const files = await filesAt(path, roots);
      // Somebody else wrote it, whoever put it there.
      const kept = await catalog.save({ tenant, owner }, files, { replace, fromOutside: true });
      return { content: savedMessage(kept) };
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
