import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, extname, resolve, sep } from 'node:path';
import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { exactField, textField } from '../../core/tool-fields.js';
import { defineTool, type Tool } from '../../core/tool.js';
import type { ParserModule } from '../../parsing/parser-entry.js';
import type { Parsers } from '../../parsing/parsers.js';
import { checkedPath, readFolder, readInside, SKILL_MAX_BYTES, type SkillFile } from './files.js';
import type { SkillCatalog, SkillCatalogOptions, StoredSkill } from './catalog.js';
import {
  DESCRIPTION_MAX_LENGTH,
  NAME_MAX_LENGTH,
  NAME_PATTERN,
  SKILL_FILE,
  toSkillText,
} from './skill-file.js';

const INSTRUCTIONS_MAX = 200_000;
const FILES_MAX = 50;

const replaceField = z.boolean().optional().describe('Replace an existing skill of this name');

export function createSkillTool(catalog: SkillCatalog): Tool {
  return defineTool({
    name: 'create_skill',
    description:
      'Saves instructions for a task as a skill of this user. The skill can be used by its name at once. An existing skill of this name is only replaced with replace: true.',
    schema: z.strictObject({
      name: z
        .string()
        .max(NAME_MAX_LENGTH)
        .regex(NAME_PATTERN, 'must be lower-case words of letters and digits, joined by "-"')
        .describe('The name, such as "release-notes"'),
      description: textField(
        'What the skill does and when to use it; the first line of the instructions by default',
        DESCRIPTION_MAX_LENGTH,
      ).optional(),
      instructions: textField(
        'The instructions in Markdown, for the agent that will use the skill',
        INSTRUCTIONS_MAX,
      ),
      files: z
        .record(z.string(), z.string())
        .refine((files) => Object.keys(files).length <= FILES_MAX, `at most ${FILES_MAX} files`)
        .optional()
        .describe('Additional text files by path, such as "scripts/build.sh" or "references/style.md"'),
      replace: replaceField,
    }),
    // Saving the same skill again changes nothing.
    effect: 'keyed',
    danger: 'moderate',
    async execute({ name, description, instructions, files = {}, replace = false }, context) {
      const head = description ?? firstLine(instructions);
      const text = toSkillText({ name, description: head, instructions });
      const others = Object.entries(files).map(([path, content]) => ({
        path: checkedPath(path),
        content: Buffer.from(content),
        isExecutable: content.startsWith('#!'),
      }));
      const main = { path: SKILL_FILE, content: Buffer.from(text), isExecutable: false };
      const all = [main, ...others.filter(({ path }) => path !== SKILL_FILE)];
      const saved = await catalog.saveWithin(context, all, { replace, fromOutside: context.hasReadOutside });
      return { content: savedMessage(saved) };
    },
  });
}

/** Tells the owner that the skill was saved. */
function savedMessage({ name, fromOutside }: StoredSkill): string {
  return `Saved the skill ${name}${fromOutside ? ', marked as from outside' : ''}. Use it with: "use the skill ${name}".`;
}

function firstLine(instructions: string): string {
  const [first = ''] = instructions.split('\n');
  const line = first.replace(/^#+\s*/, '').trim();
  return (line === '' ? instructions.trim() : line).slice(0, DESCRIPTION_MAX_LENGTH);
}

const IMPORT_TIME_MS = 120_000;
const PATH_MAX = 4_096;

const SOURCE =
  'A folder in the workspace that contains SKILL.md, or a .zip, .skill or .tar.gz of such a folder';

/** Archives from outside are read in a process apart from the server. */
const ARCHIVE: ParserModule<Buffer, readonly SkillFile[]> = {
  url: new URL(`./archive-entry${extname(import.meta.url)}`, import.meta.url).href,
};

type ImportOptions = Pick<SkillCatalogOptions, 'folders'> & { readonly parsers: Parsers };

export function importSkillTool(catalog: SkillCatalog, { folders, parsers }: ImportOptions): Tool {
  return defineTool({
    name: 'import_skill',
    description:
      'Imports a skill from a folder or an archive in the workspace, as a skill of this user. Refuses links and paths that lead outside.',
    schema: z.strictObject({ path: exactField(SOURCE, PATH_MAX), replace: replaceField }),
    effect: 'keyed',
    danger: 'moderate',
    timeoutMs: IMPORT_TIME_MS,
    async execute({ path, replace = false }, context) {
      const { tenant, owner, signal } = context;
      const scope = { tenant, owner };
      const found = await readSource(path, await folders.openReal(scope));
      const files = Buffer.isBuffer(found) ? await parsers.parse(ARCHIVE, found, { scope, signal }) : found;
      // Anyone may have written to the workspace, so an imported skill counts as text from outside.
      const saved = await catalog.saveWithin(context, files, { replace, fromOutside: true });
      return { content: savedMessage(saved) };
    },
  });
}

/** Resolves with the files of a folder, or with the bytes of an archive. */
async function readSource(path: string, roots: readonly string[]): Promise<readonly SkillFile[] | Buffer> {
  const real = await insideWorkspace(path, roots);
  if ((await stat(real)).isDirectory()) return readFolder(real);
  return (await readInside(dirname(real), basename(real), SKILL_MAX_BYTES)).content;
}

/** Resolves the real path. Rejects with `not-found` for every path outside the workspace, and so reveals nothing about it. */
async function insideWorkspace(path: string, roots: readonly string[]): Promise<string> {
  const real = await realpath(resolve(roots[0] ?? '/', path)).catch(() => undefined);
  if (real !== undefined && roots.some((root) => real.startsWith(root + sep))) return real;
  const quoted = JSON.stringify(path.slice(0, 200));
  throw new LangoError('not-found', `path: ${quoted} does not exist in the workspace.`);
}
