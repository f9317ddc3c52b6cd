import path from 'node:path';
import type { Dirent } from 'node:fs';
import { glob, lstat, readFile, readdir, realpath, stat } from 'node:fs/promises';
import { LangoError, errorText } from '../../core/errors.js';
import { usageError } from '../../terminal/exit.js';

interface Skipped {
  readonly file: string;
  /** A part of a sentence: "it is a link". */
  readonly reason: string;
}

const MOST_FILES = 100_000;
const PATTERN = /[*?[\]{}]/;
/** Limits of a `.gitignore`, because its lines become regular expressions. */
const MOST_LINES = 1_000;
const LONGEST_LINE = 500;

export async function findFiles(paths: readonly string[]): Promise<FoundFiles> {
  const found = new FoundFiles();
  for (const given of paths) await findOne(given, found);
  return found;
}

async function findOne(given: string, found: FoundFiles): Promise<void> {
  const facts = await stat(given).catch(() => undefined);
  if (!facts) return findPattern(given, found);
  const place = await realpath(given);
  if (facts.isFile()) return found.add(place);
  if (!facts.isDirectory()) throw usageError(`${given} is neither a file nor a folder.`);
  found.folders.push(place);
  await found.folder(place, []);
}

async function findPattern(given: string, found: FoundFiles): Promise<void> {
  const before = found.files.size;
  if (PATTERN.test(given)) {
    for await (const match of glob(given)) {
      if (isHidden(given, match) || !(await lstat(match)).isFile()) continue;
      found.add(await realpath(match));
    }
  }
  if (found.files.size > before) return;
  throw usageError(
    PATTERN.test(given) ? `No file fits ${given}.` : `There is no ${given}.`,
    `To remove what was added from there: lango ingest remove ${given}`,
  );
}

/** Hidden files and packages match only a pattern that names them. */
function isHidden(pattern: string, match: string): boolean {
  const named = new Set(pattern.split(/[\\/]/));
  return match.split(/[\\/]/).some((part) => isLeftOut(part) && !named.has(part));
}

const isLeftOut = (name: string): boolean => name.startsWith('.') || name === 'node_modules';

/** The files that the paths of a command stand for. All paths are absolute, with links resolved. */
export class FoundFiles {
  /** With their names in citations: the last folder and the path below it. */
  readonly files = new Map<string, string>();
  readonly skipped: Skipped[] = [];
  /** Documents from these folders that are not among the files have been deleted. */
  readonly folders: string[] = [];
  /** Folders whose files are unknown, because they could not be read. */
  readonly unreadable: string[] = [];

  /** The name in citations begins with the folder that holds `root`'s entries; a file of its own is its own root. */
  add(file: string, root = path.dirname(file)): void {
    if (this.files.size >= MOST_FILES)
      throw new LangoError('too-large', `There are more than ${MOST_FILES} files.`, {
        hint: 'Add a part of the folder at a time.',
      });
    const name = path.relative(path.dirname(root), file).split(path.sep).join('/');
    if (!this.files.has(file)) this.files.set(file, name);
  }

  /** Adds files of a folder, but no hidden or ignored ones or links. `above`: rules from `root` to here, innermost first. */
  async folder(folder: string, above: readonly IgnoreRule[], root = folder): Promise<void> {
    const entries = await this.#read(folder);
    const hasRules = entries.some(({ name }) => name === '.gitignore');
    const rules = hasRules ? [...(await readIgnoreRules(folder)), ...above] : above;
    for (const entry of entries) {
      const file = path.join(folder, entry.name);
      if (isLeftOut(entry.name) || isIgnored(file, rules, entry.isDirectory())) continue;
      if (entry.isDirectory()) await this.folder(file, rules, root);
      else if (entry.isFile()) this.add(file, root);
      else this.skipped.push({ file, reason: entry.isSymbolicLink() ? 'it is a link' : 'it is not a file' });
    }
  }

  async #read(folder: string): Promise<readonly Dirent[]> {
    try {
      const entries = await readdir(folder, { withFileTypes: true });
      return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      this.unreadable.push(folder);
      this.skipped.push({ file: folder, reason: `it cannot be read: ${errorText(error)}` });
      return [];
    }
  }
}

/** One line of a `.gitignore`. */
interface IgnoreRule {
  /** The folder of the `.gitignore`. */
  readonly folder: string;
  /** Matches paths below that folder. */
  readonly pattern: RegExp;
  readonly isForFolders: boolean;
  readonly leavesOut: boolean;
}

/** The first matching rule decides: the last line of the innermost `.gitignore`, as in git. */
function isIgnored(file: string, rules: readonly IgnoreRule[], isFolder: boolean): boolean {
  const deciding = rules.find(({ folder, pattern, isForFolders }) => {
    const relative = path.relative(folder, file).split(path.sep).join('/');
    return (isFolder || !isForFolders) && pattern.test(relative);
  });
  return deciding?.leavesOut ?? false;
}

/** Reads the rules of a folder, the last line first. Longer lines than LONGEST_LINE are skipped. */
async function readIgnoreRules(folder: string): Promise<readonly IgnoreRule[]> {
  const text = await readFile(path.join(folder, '.gitignore'), 'utf8').catch(() => '');
  return text
    .split(/\r?\n/)
    .slice(0, MOST_LINES)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#') && line.length <= LONGEST_LINE)
    .map((line) => toRule(line, folder))
    .reverse();
}

function toRule(line: string, folder: string): IgnoreRule {
  const body = line.replace(/^!/, '').replace(/\/$/, '');
  const source = body
    .replace(/^\//, '')
    .split(/(\*\*\/|\/\*\*|\*+|\?)/)
    .map(toSource)
    .join('');
  const isAnchored = body.includes('/');
  return {
    folder,
    pattern: new RegExp(`^${isAnchored ? '' : '(?:.*/)?'}${source}$`, 'u'),
    isForFolders: line.endsWith('/'),
    leavesOut: !line.startsWith('!'),
  };
}

function toSource(part: string): string {
  if (part === '**/') return '(?:.*/)?';
  if (part === '/**') return '/.*';
  if (part === '?') return '[^/]';
  return /^\*+$/.test(part) ? '[^/]*' : part.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
