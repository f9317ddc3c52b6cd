import { chown, mkdir, readlink, realpath } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { codeOf, LangoError } from '../../core/errors.js';
import { explainFailure, openPath, ownerOfNewEntry, type OpenPath, type PathArgument } from './paths.js';

/** A name in a folder, whether something stands there or not. */
export interface PathTarget {
  readonly folder: OpenPath;
  readonly name: string;
  /** The absolute path, without symbolic links before the name. */
  readonly path: string;
  /** What stands there. */
  readonly existing: OpenPath | undefined;
}

export interface TargetOptions {
  /** Whether a symbolic link at the end is followed; links on the way always are. */
  readonly follow: boolean;
  /** Whether missing folders on the way are made. */
  readonly make: boolean;
}

interface Root {
  readonly given: string;
  readonly real: string;
}

type WalkResult = PathTarget | { readonly link: string } | OpenPath;

const LINKS_MAX = 40;

/** The folders that the tools may touch. */
export class Workspace {
  #last: Promise<unknown> = Promise.resolve();

  readonly #roots: readonly string[];

  constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  /**
   * Runs `work` and lets go of all it held. System errors come out as sentences about `subject`. Rejects
   * with `unavailable` when a root is missing.
   */
  async read<Result>(
    subject: PathArgument,
    work: (access: WorkspaceAccess) => Promise<Result>,
  ): Promise<Result> {
    const roots = await Promise.all(
      this.#roots.map(async (given) => ({ given: resolve(given), real: await realpath(given) })),
    ).catch((cause: unknown) => {
      throw new LangoError('unavailable', 'The workspace folder is missing.', { cause });
    });
    const access = new WorkspaceAccess(roots);
    try {
      return await work(access);
    } catch (error) {
      throw explainFailure(error, quote(subject));
    } finally {
      await access.close();
    }
  }

  /** Like `access`, one after the other: two edits of a file at once do not lose one. */
  change<Result>(subject: PathArgument, work: (access: WorkspaceAccess) => Promise<Result>): Promise<Result> {
    const result = this.#last.then(() => this.read(subject, work));
    this.#last = result.catch(() => undefined);
    return result;
  }
}

/** What one call sees of the workspace. Every folder on the way to a path is opened in the one before it. */
export class WorkspaceAccess {
  readonly #opened = new Set<OpenPath>();

  readonly #roots: readonly Root[];

  constructor(roots: readonly Root[]) {
    this.#roots = roots;
  }

  /** What stands at a path, symbolic links followed. Rejects when it is missing or outside the roots. */
  async find(argument: PathArgument): Promise<OpenPath> {
    const end = await this.#walk(argument, { follow: true, make: false });
    if (!isTarget(end)) return end;
    if (end.existing !== undefined) return end.existing;
    throw missingPath(argument);
  }

  /** A name that may be made, replaced, or removed. Rejects for a root, and like `find` for its folder. */
  async target(argument: PathArgument, options: TargetOptions): Promise<PathTarget> {
    const end = await this.#walk(argument, options);
    if (isTarget(end)) return end;
    throw new LangoError(
      'invalid-input',
      `${quote(argument)} is the workspace itself; name something in it.`,
    );
  }

  /** What stands under `name` in the folder, a link not followed; undefined when nothing does. */
  async child(folder: OpenPath, name: string): Promise<OpenPath | undefined> {
    try {
      return await this.#open(`${folder.at}/${name}`, resolve(folder.path, name));
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Makes the folder, or finds that it is there. */
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

  /** Lets go of a opened before the access ends. */
  async release(opened: OpenPath): Promise<void> {
    if (this.#opened.delete(opened)) await opened.close();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#opened].map((opened) => this.release(opened)));
  }

  /** How a path is shown, and may be given back: relative to the first root; absolute in another. */
  displayPath(path: string): string {
    const first = this.#roots[0]!.real;
    return isInside(path, first) ? relative(first, path) || '.' : path;
  }

  /** Whether a root is at `path` or below it. */
  containsRoot(path: string): boolean {
    return this.#roots.some(({ real }) => isInside(real, path));
  }

  async #walk(argument: PathArgument, options: TargetOptions): Promise<PathTarget | OpenPath> {
    let path = argument.value;
    for (let links = 0; links <= LINKS_MAX; links += 1) {
      const { root, names } = this.#rootOf(argument, path);
      const end = await this.#descend(argument, { root, names, ...options });
      if (!('link' in end)) return end;
      path = end.link;
    }
    throw new LangoError('invalid-input', `${quote(argument)}: its links lead in a circle.`);
  }

  /** The root that a path lies in, and the names from there. Looks at the text only. */
  #rootOf(argument: PathArgument, path: string): { root: Root; names: string[] } {
    const absolute = isAbsolute(path) ? resolve(path) : resolve(this.#roots[0]!.real, path);
    for (const root of this.#roots) {
      for (const start of [root.real, root.given]) {
        if (isInside(absolute, start)) {
          return { root, names: relative(start, absolute).split(sep).filter(Boolean) };
        }
      }
    }
    const advice = 'give a path relative to it, such as "notes.txt"';
    throw new LangoError('forbidden', `${quote(argument)} leads outside the workspace; ${advice}.`);
  }

  /** Goes down name by name. A link ends it with the path where to go on. */
  async #descend(
    argument: PathArgument,
    { root, names, follow, make }: TargetOptions & { readonly root: Root; readonly names: readonly string[] },
  ): Promise<WalkResult> {
    let folder = await this.#open(root.real, root.real);
    for (const [index, name] of names.entries()) {
      if (!folder.stats.isDirectory()) {
        throw new LangoError(
          'invalid-input',
          `${quote(argument)}: "${this.displayPath(folder.path)}" is not a folder.`,
        );
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

function quote({ name, value }: PathArgument): string {
  return `${name}: "${value}"`;
}

export function missingPath(argument: PathArgument): LangoError {
  return new LangoError('not-found', `${quote(argument)} does not exist; fs_list shows what there is.`);
}

function isTarget(end: PathTarget | OpenPath): end is PathTarget {
  return 'folder' in end;
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === sep ? sep : folder + sep);
}
