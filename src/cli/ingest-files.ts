import path from 'node:path';
import type { Dirent } from 'node:fs';
import { glob, lstat, readFile, readdir, realpath, stat } from 'node:fs/promises';
import { LangoError, errorText } from '../core/errors.js';
import { usageError } from './exit.js';

export interface FoundFile {
  readonly file: string;
  /** The name in citations: the last folder and the path below it. */
  readonly name: string;
}

export interface Skipped {
  readonly file: string;
  /** A part of a sentence: "it is a link". */
  readonly reason: string;
}

/** The files that the paths of a command stand for. All paths are absolute, with links resolved. */
export interface Found {
  readonly files: readonly FoundFile[];
  readonly skipped: readonly Skipped[];
  /** Documents from these folders that are not among the files have been deleted. */
  readonly folders: readonly string[];
  /** Folders whose files are unknown, because they could not be read. */
  readonly unreadable: readonly string[];
}

const MOST_FILES = 100_000;
const PATTERN = /[*?[\]{}]/;
/** Limits of a `.gitignore`, because its lines become regular expressions. */
const MOST_LINES = 1_000;
const LONGEST_LINE = 500;

export async function findFiles(paths: readonly string[]): Promise<Found> {
  const walk = new Walk();
  for (const given of paths) await findOne(given, walk);
  return { ...walk, files: [...walk.files.values()] };
}

async function findOne(given: string, walk: Walk): Promise<void> {
  const facts = await stat(given).catch(() => undefined);
  if (!facts) return findPattern(given, walk);
  const place = await realpath(given);
  if (facts.isFile())
    return walk.add(place, path.join(path.basename(path.dirname(place)), path.basename(place)));
  if (!facts.isDirectory()) throw usageError(`${given} is neither a file nor a folder.`);
  walk.folders.push(place);
  await walk.folder(place, { root: place, rules: [] });
}

async function findPattern(given: string, walk: Walk): Promise<void> {
  const before = walk.files.size;
  if (PATTERN.test(given)) {
    for await (const match of glob(given)) {
      if (isHidden(given, match) || !(await lstat(match)).isFile()) continue;
      const place = await realpath(match);
      walk.add(place, path.join(path.basename(path.dirname(place)), path.basename(place)));
    }
  }
  if (walk.files.size > before) return;
  throw usageError(
    PATTERN.test(given) ? `No file fits ${given}.` : `There is no ${given}.`,
    `To forget what was taken in from there: lango ingest remove ${given}`,
  );
}

/** Hidden files and packages match only a pattern that names them. */
function isHidden(pattern: string, match: string): boolean {
  const named = new Set(pattern.split(/[\\/]/));
  return match.split(/[\\/]/).some((part) => isLeftOut(part) && !named.has(part));
}

function isLeftOut(name: string): boolean {
  return name.startsWith('.') || name === 'node_modules';
}

interface WalkFolder {
  readonly root: string;
  readonly rules: readonly { readonly folder: string; readonly rule: IgnoreRule }[];
}

class Walk {
  readonly files = new Map<string, FoundFile>();
  readonly skipped: Skipped[] = [];
  readonly folders: string[] = [];
  readonly unreadable: string[] = [];

  add(file: string, name: string): void {
    if (this.files.size >= MOST_FILES) {
      throw new LangoError('too-large', `There are more than ${MOST_FILES} files.`, {
        hint: 'Take in a part of the folder at a time.',
      });
    }
    if (!this.files.has(file)) this.files.set(file, { file, name: name.split(path.sep).join('/') });
  }

  /** Adds the files of a folder. Skips hidden and ignored files silently, and never follows links. */
  async folder(folder: string, at: WalkFolder): Promise<void> {
    const entries = await this.#read(folder);
    const here = entries.some(({ name }) => name === '.gitignore') ? await rulesOf(folder) : [];
    const rules = [...here, ...at.rules];
    for (const entry of entries) {
      const file = path.join(folder, entry.name);
      if (isLeftOut(entry.name) || isIgnored(file, { rules, isFolder: entry.isDirectory() })) continue;
      if (entry.isDirectory()) await this.folder(file, { ...at, rules });
      else if (entry.isFile())
        this.add(file, path.join(path.basename(at.root), path.relative(at.root, file)));
      else this.skipped.push({ file, reason: entry.isSymbolicLink() ? 'it is a link' : 'it is no file' });
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

async function rulesOf(folder: string): Promise<WalkFolder['rules']> {
  const text = await readFile(path.join(folder, '.gitignore'), 'utf8').catch(() => '');
  return [{ folder, rule: readIgnoreRules(text) }];
}

/** The innermost `.gitignore` with a matching line decides. */
function isIgnored(
  file: string,
  { rules, isFolder }: { readonly rules: WalkFolder['rules']; readonly isFolder: boolean },
): boolean {
  for (const { folder, rule } of rules) {
    const answer = rule(path.relative(folder, file).split(path.sep).join('/'), isFolder);
    if (answer !== undefined) return answer;
  }
  return false;
}

/** Whether a `.gitignore` leaves out a path below its folder; undefined when no line matches. */
type IgnoreRule = (relative: string, isFolder: boolean) => boolean | undefined;

/** The last matching line decides, as in git. Longer lines than LONGEST_LINE are skipped. */
function readIgnoreRules(text: string): IgnoreRule {
  const rules = text
    .split(/\r?\n/)
    .slice(0, MOST_LINES)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#') && line.length <= LONGEST_LINE)
    .map(toRule)
    .reverse();
  return (relative, isFolder) =>
    rules.find((rule) => (isFolder || !rule.isForFolders) && rule.pattern.test(relative))?.leavesOut;
}

function toRule(line: string) {
  const leavesOut = !line.startsWith('!');
  const isForFolders = line.endsWith('/');
  const body = line.replace(/^!/, '').replace(/\/$/, '');
  const isAnchored = body.includes('/');
  const source = body
    .replace(/^\//, '')
    .split(/(\*\*\/|\/\*\*|\*+|\?)/)
    .map(toSource)
    .join('');
  return { leavesOut, isForFolders, pattern: new RegExp(`^${isAnchored ? '' : '(?:.*/)?'}${source}$`, 'u') };
}

function toSource(part: string): string {
  if (part === '**/') return '(?:.*/)?';
  if (part === '/**') return '/.*';
  if (part === '?') return '[^/]';
  return /^\*+$/.test(part) ? '[^/]*' : part.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
