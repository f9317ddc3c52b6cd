import { randomUUID } from 'node:crypto';
import { chown, mkdir, readFile, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { codeOf, LangoError } from '../../../core/errors.js';
import { KeyedMutex } from '../../../core/keyed-mutex.js';
import { scopeKey, type Scope } from '../../../core/task.js';
import type { DiskBudget } from '../../../disk/disk-budget.js';
import type { WorkFolders } from '../../../disk/work-folders.js';
import { openPath, ownerOfNewEntry, type OpenPath } from '../../../disk/open-path.js';
import { explainFailure, type PathArgument } from './paths.js';

/** A name in a folder, whether it exists or not. */
export interface PathTarget {
  readonly folder: OpenPath;
  readonly name: string;
  /** The absolute path; no part before the name is a symbolic link. */
  readonly path: string;
  /** The object of this name, if it exists. */
  readonly existing: OpenPath | undefined;
}

export interface TargetOptions {
  /** Whether a symbolic link at the end is followed. Links before the end are always followed. */
  readonly follow: boolean;
  /** Whether missing folders on the way are created. */
  readonly make: boolean;
}

type Root = Readonly<Record<'given' | 'real', string>>;

const LINKS_MAX = 40;

export interface WorkspaceParts {
  readonly folders: WorkFolders;
  readonly budget: DiskBudget;
  /** Records temporary files for removal at the next start. Undefined: a killed server may leave some behind. */
  readonly unfinished?: UnfinishedWrites | undefined;
}

type Work<Result> = (access: WorkspaceAccess) => Promise<Result>;

/** The folders that the tools may access: for each call, those of its owner. */
export class Workspace {
  readonly #changes = new KeyedMutex();
  readonly #folders: WorkFolders;
  readonly budget: DiskBudget;
  readonly unfinished: UnfinishedWrites | undefined;

  constructor({ folders, budget, unfinished }: WorkspaceParts) {
    this.#folders = folders;
    this.budget = budget;
    this.unfinished = unfinished;
  }

  /**
   * Runs `work` and closes everything that it opened. Translates system errors into sentences about `subject`. Rejects
   * with `unavailable` when a root is missing.
   */
  async read<Result>(scope: Scope, subject: PathArgument, work: Work<Result>): Promise<Result> {
    const real = await this.#folders.openReal(scope);
    const given = this.#folders.of(scope);
    const roots = real.map((path, index) => ({ real: path, given: resolve(given[index]!) }));
    await using access = new WorkspaceAccess(roots);
    try {
      return await work(access);
    } catch (error) {
      throw explainFailure(error, quote(subject));
    }
  }

  /** Like `read`, but runs the calls of one workspace one after another, so that simultaneous edits are not lost. */
  change<Result>(scope: Scope, subject: PathArgument, work: Work<Result>): Promise<Result> {
    const key = this.#folders.isApart ? scopeKey(scope) : '';
    return this.#changes.run(key, () => this.read(scope, subject, work));
  }
}

/** The workspace as one call accesses it. Every folder on the way to a path is opened relative to the one before it. */
export class WorkspaceAccess implements AsyncDisposable {
  readonly #opened = new Set<OpenPath>();
  readonly #roots: readonly Root[];

  constructor(roots: readonly Root[]) {
    this.#roots = roots;
  }

  /** Opens the folders of the workspace. */
  openRoots(): Promise<readonly OpenPath[]> {
    return Promise.all(this.#roots.map(({ real }) => this.#open(real, real)));
  }

  /** Finds the object at a path, following symbolic links. Rejects when it is missing or outside the roots. */
  async find(argument: PathArgument): Promise<OpenPath> {
    const end = await this.#walk(argument, { follow: true, make: false });
    if (!isTarget(end)) return end;
    if (end.existing !== undefined) return end.existing;
    throw missingPath(argument);
  }

  /** Resolves a name to create, replace or remove. Rejects for a root, and like `find` for the folder of the name. */
  async target(argument: PathArgument, options: TargetOptions): Promise<PathTarget> {
    const end = await this.#walk(argument, options);
    if (isTarget(end)) return end;
    const problem = `${quote(argument)} is the workspace itself; choose a path inside it.`;
    throw new LangoError('invalid-input', problem);
  }

  /** Like `target`, for an existing object to move or delete. Rejects when the object is or contains a root. */
  async removable(argument: PathArgument): Promise<PathTarget & { readonly existing: OpenPath }> {
    const target = await this.target(argument, { follow: false, make: false });
    const { existing } = target;
    if (existing === undefined) throw missingPath(argument);
    if (!this.#roots.some(({ real }) => isInside(real, target.path))) return { ...target, existing };
    const problem = `${quote(argument)} contains the workspace; choose a path inside the workspace.`;
    throw new LangoError('forbidden', problem);
  }

  /** Opens `name` in the folder without following a link; undefined when it does not exist. */
  async child(folder: OpenPath, name: string): Promise<OpenPath | undefined> {
    try {
      return await this.#open(`${folder.at}/${name}`, resolve(folder.path, name));
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Creates the folder, or opens the existing one. */
  async makeFolder(folder: OpenPath, name: string): Promise<OpenPath> {
    const at = `${folder.at}/${name}`;
    const path = resolve(folder.path, name);
    const isMade = await mkdir(at).then(
      () => true,
      (error: unknown) => {
        if (codeOf(error) !== 'EEXIST') throw error;
        return false;
      },
    );
    const made = await this.#open(at, path);
    const owner = ownerOfNewEntry(folder);
    if (!isMade || owner === undefined) return made;
    await chown(made.at, owner.uid, owner.gid);
    await this.release(made);
    return this.#open(at, path);
  }

  /** Closes an object before the access ends. */
  async release(opened: OpenPath): Promise<void> {
    if (this.#opened.delete(opened)) await opened.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#opened].map((opened) => this.release(opened)));
  }

  /** The path as shown to the model, which may pass it back: relative to the first root, absolute in any other. */
  displayPath(path: string): string {
    const first = this.#roots[0]!.real;
    return isInside(path, first) ? relative(first, path) || '.' : path;
  }

  async #walk(argument: PathArgument, options: TargetOptions): Promise<PathTarget | OpenPath> {
    let path = argument.value;
    for (let links = 0; links <= LINKS_MAX; links += 1) {
      const { root, names } = this.#rootOf(argument, path);
      const end = await this.#descend(argument, { root, names, ...options });
      if (!('link' in end)) return end;
      path = end.link;
    }
    throw new LangoError('invalid-input', `${quote(argument)}: its symbolic links form a loop.`);
  }

  /** Returns the root that contains a path, and the names from there. Checks the text only. */
  #rootOf(argument: PathArgument, path: string): { root: Root; names: string[] } {
    const absolute = isAbsolute(path) ? resolve(path) : resolve(this.#roots[0]!.real, path);
    for (const root of this.#roots) {
      for (const start of [root.real, root.given]) {
        if (isInside(absolute, start))
          return { root, names: relative(start, absolute).split(sep).filter(Boolean) };
      }
    }
    const advice = 'use a path relative to the workspace, such as "notes.txt"';
    throw new LangoError('forbidden', `${quote(argument)} leads outside the workspace; ${advice}.`);
  }

  /** Descends name by name. Stops at a link and returns the path to continue with. */
  async #descend(
    argument: PathArgument,
    { root, names, follow, make }: TargetOptions & { readonly root: Root; readonly names: readonly string[] },
  ): Promise<PathTarget | { readonly link: string } | OpenPath> {
    let folder = await this.#open(root.real, root.real);
    for (const [index, name] of names.entries()) {
      if (!folder.stats.isDirectory()) {
        const problem = `${quote(argument)}: "${this.displayPath(folder.path)}" is not a folder.`;
        throw new LangoError('invalid-input', problem);
      }
      const isLast = index === names.length - 1;
      const opened = await this.child(folder, name);
      if (opened?.stats.isSymbolicLink() && (follow || !isLast)) {
        const target = await readlink(`${folder.at}/${name}`);
        return { link: resolve(folder.path, target, ...names.slice(index + 1)) };
      }
      if (isLast) return { folder, name, path: resolve(folder.path, name), existing: opened };
      if (opened === undefined && !make) throw missingPath(argument);
      folder = opened ?? (await this.makeFolder(folder, name));
    }
    return folder;
  }

  async #open(at: string, path: string): Promise<OpenPath> {
    const opened = await openPath(at, path);
    this.#opened.add(opened);
    return opened;
  }
}

const quote = ({ name, value }: PathArgument): string => `${name}: "${value}"`;

export function missingPath(argument: PathArgument): LangoError {
  const problem = `${quote(argument)} does not exist; call fs_list to see the existing files.`;
  return new LangoError('not-found', problem);
}

const isTarget = (end: PathTarget | OpenPath): end is PathTarget => 'folder' in end;

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === sep ? sep : folder + sep);
}

/** The end of the name of each temporary file. */
export const TEMPORARY_SUFFIX = '.lango-new';

/**
 * Records the temporary files of writes in a folder of the server. When the server is killed, the next start removes the
 * temporary files from the workspaces, also if the calls that wrote them are never repeated.
 */
export class UnfinishedWrites {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Records a temporary file. Resolves with a function that deletes the record. */
  async record(path: string): Promise<() => Promise<void>> {
    const entry = join(this.#folder, randomUUID());
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFile(entry, path, { mode: 0o600 });
    return () => rm(entry, { force: true });
  }

  /** Removes the recorded files. Call it before the first write. */
  async removeLeft(): Promise<void> {
    const entries = await readdir(this.#folder).catch(() => []);
    for (const entry of entries.map((name) => join(this.#folder, name))) {
      const path = await readFile(entry, 'utf8');
      if (path.endsWith(TEMPORARY_SUFFIX)) await rm(path, { force: true });
      await rm(entry, { force: true });
    }
  }
}
