import { z } from 'zod';
import { globFilter, type PathFilter } from './glob.js';
import { counted, shorten } from '../../../core/text.js';
import { limitField, exactField } from '../../../core/tool-fields.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { binaryKind, SAMPLE_BYTES } from '../../../disk/file-kind.js';
import { readWhole } from './files.js';
import { literalMatcher, regexMatcher, type Matcher } from './matcher.js';
import type { OpenPath } from '../../../disk/open-path.js';
import { pathArgument, pathField } from './paths.js';
import { walkTree } from './tree.js';
import type { WorkspaceAccess, Workspace } from './workspace.js';

/** The search ends after this time and returns what it has found. */
const WORK_TIME_MS = 15_000;
const FILES_MAX = 20_000;
const FILE_MAX_BYTES = 4 * 1024 * 1024;
const TOTAL_MAX_BYTES = 256 * 1024 * 1024;
const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 500;
const LINE_MAX_LENGTH = 200;

export function searchTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'fs_search',
    description:
      'Searches the lines and the names of files below a folder. Skips binary files, .git and node_modules.',
    schema: z.strictObject({
      pattern: exactField('The text to find; without upper-case letters it ignores case', 1000),
      regex: z.boolean().optional().describe('A JavaScript regular expression'),
      path: pathField('The workspace by default').optional(),
      glob: exactField('Only files such as "src/**/*.{ts,tsx}"', 1000).optional(),
      limit: limitField(`${LIMIT_DEFAULT} matches by default`, LIMIT_MAX),
    }),
    effect: 'pure',
    bringsOutside: true,
    execute: ({ pattern, regex = false, path = '.', glob, limit = LIMIT_DEFAULT }, { signal, ...scope }) =>
      workspace.read(scope, pathArgument(path), async (access) => {
        const top = await access.find(pathArgument(path));
        await using matcher = regex ? regexMatcher(pattern, signal) : literalMatcher(pattern);
        const filter = glob === undefined ? () => true : globFilter(glob);
        const search = new Search({ access, matcher, filter, limit });
        await search.run(top, signal);
        return { content: search.report(pattern) };
      }),
  });
}

interface SearchOptions {
  readonly access: WorkspaceAccess;
  readonly matcher: Matcher;
  readonly filter: PathFilter;
  readonly limit: number;
}

/** One search with its limits and its matches so far. */
class Search {
  readonly #found: string[] = [];
  readonly #deadline = Date.now() + WORK_TIME_MS;
  #files = 0;
  #bytes = 0;
  #skippedFiles = 0;
  #stopReason: string | undefined;
  readonly #options: SearchOptions;

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  async run(top: OpenPath, signal: AbortSignal): Promise<void> {
    if (!top.stats.isDirectory()) return this.#searchEntry(top, top.path);
    for await (const { opened } of walkTree(this.#options.access, top, { recursive: true, signal })) {
      const path = opened.path.slice(top.path.length + 1);
      if (this.#options.filter(path)) await this.#searchEntry(opened, path);
      if (this.#stopReason !== undefined) return;
    }
  }

  report(pattern: string): string {
    const skipped = `${this.#skippedFiles} binary or very large files were not searched`;
    const notes = [this.#stopReason, this.#skippedFiles > 0 ? skipped : undefined];
    const note = notes.filter((text) => text !== undefined).join('; ');
    const nothing = `No match for "${pattern}" in ${counted(this.#files, 'file')}.`;
    const found = this.#found.length > 0 ? this.#found : [nothing];
    return [...found, ...(note === '' ? [] : [`[${note}]`])].join('\n');
  }

  /** `path` is relative to the searched folder. */
  async #searchEntry(opened: OpenPath, path: string): Promise<void> {
    const shown = this.#options.access.displayPath(opened.path);
    const text = opened.stats.isFile() ? await this.#readText(opened, shown) : '';
    const { name, lines } = await this.#options.matcher.match(path.split('/').at(-1)!, text);
    if (name) this.#add(`${shown}${opened.stats.isDirectory() ? '/' : ''} (name)`);
    const all = lines.length === 0 ? [] : text.split('\n');
    for (const line of lines)
      this.#add(`${shown}:${line}: ${shorten(all[line - 1]!.trim(), LINE_MAX_LENGTH)}`);
    this.#checkLimits();
  }

  #add(line: string): void {
    const { limit } = this.#options;
    if (this.#found.length < limit) this.#found.push(line);
    else this.#stopReason = `the first ${limit} matches; narrow it down with path or glob, or raise limit`;
  }

  /** Returns an empty text for a file that is not searched. */
  async #readText(opened: OpenPath, shown: string): Promise<string> {
    this.#files += 1;
    const bytes = await readWhole(opened, shown, FILE_MAX_BYTES).catch(() => undefined);
    if (bytes === undefined || binaryKind(bytes.subarray(0, SAMPLE_BYTES)) !== undefined) {
      this.#skippedFiles += 1;
      return '';
    }
    this.#bytes += bytes.length;
    return bytes.toString('utf8');
  }

  #checkLimits(): void {
    if (this.#files < FILES_MAX && this.#bytes < TOTAL_MAX_BYTES && Date.now() < this.#deadline) return;
    this.#stopReason ??= `stopped after ${this.#files} files; narrow it down with path or glob`;
  }
}
