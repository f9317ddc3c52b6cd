import { chown, mkdir, readlink, realpath } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { codeOf, LangoError } from '../../core/errors.js';
import { explainFailure, holdPlace, ownerFor, type PathArgument, type Place } from './paths.js';

/** A name in a folder, whether something stands there or not. */
export interface Spot {
  readonly folder: Place;
  readonly name: string;
  /** The absolute path, without symbolic links before the name. */
  readonly path: string;
  /** What stands there. */
  readonly place: Place | undefined;
}

export interface SpotOptions {
  /** Whether a symbolic link at the end is followed; links on the way always are. */
  readonly follow: boolean;
  /** Whether missing folders on the way are made. */
  readonly make: boolean;
}

interface Root {
  readonly given: string;
  readonly real: string;
}

type Step = Spot | { readonly link: string } | Place;

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
  async visit<Result>(subject: PathArgument, work: (visit: Visit) => Promise<Result>): Promise<Result> {
    const roots = await Promise.all(
      this.#roots.map(async (given) => ({ given: resolve(given), real: await realpath(given) })),
    ).catch((cause: unknown) => {
      throw new LangoError('unavailable', 'The workspace folder is missing.', { cause });
    });
    const visit = new Visit(roots);
    try {
      return await work(visit);
    } catch (error) {
      throw explainFailure(error, quote(subject));
    } finally {
      await visit.close();
    }
  }

  /** Like `visit`, one after the other: two edits of a file at once do not lose one. */
  change<Result>(subject: PathArgument, work: (visit: Visit) => Promise<Result>): Promise<Result> {
    const result = this.#last.then(() => this.visit(subject, work));
    this.#last = result.catch(() => undefined);
    return result;
  }
}

/** What one call sees of the workspace. Every folder on the way to a path is opened in the one before it. */
export class Visit {
  readonly #held = new Set<Place>();

  readonly #roots: readonly Root[];

  constructor(roots: readonly Root[]) {
    this.#roots = roots;
  }

  /** What stands at a path, symbolic links followed. Rejects when it is missing or outside the roots. */
  async find(argument: PathArgument): Promise<Place> {
    const end = await this.#walk(argument, { follow: true, make: false });
    if (!isSpot(end)) return end;
    if (end.place !== undefined) return end.place;
    throw missing(argument);
  }

  /** A name that may be made, replaced, or removed. Rejects for a root, and like `find` for its folder. */
  async spot(argument: PathArgument, options: SpotOptions): Promise<Spot> {
    const end = await this.#walk(argument, options);
    if (isSpot(end)) return end;
    throw new LangoError(
      'invalid-input',
      `${quote(argument)} is the workspace itself; name something in it.`,
    );
  }

  /** What stands under `name` in the folder, a link not followed; undefined when nothing does. */
  async child(folder: Place, name: string): Promise<Place | undefined> {
    try {
      return await this.#hold(`${folder.at}/${name}`, resolve(folder.path, name));
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Makes the folder, or finds that it is there. */
  async makeFolder(folder: Place, name: string): Promise<Place> {
    const at = `${folder.at}/${name}`;
    const path = resolve(folder.path, name);
    const isMade = await mkdir(at).then(
      () => true,
      (error: unknown) => {
        if (codeOf(error) !== 'EEXIST') throw error;
        return false;
      },
    );
    const made = await this.#hold(at, path);
    const owner = ownerFor(folder);
    if (!isMade || owner === undefined) return made;
    await chown(made.at, owner.uid, owner.gid);
    await this.release(made);
    return this.#hold(at, path);
  }

  /** Lets go of a place before the visit ends. */
  async release(place: Place): Promise<void> {
    if (this.#held.delete(place)) await place.close();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#held].map((place) => this.release(place)));
  }

  /** How a path is shown, and may be given back: relative to the first root; absolute in another. */
  show(path: string): string {
    const first = this.#roots[0]!.real;
    return isInside(path, first) ? relative(first, path) || '.' : path;
  }

  /** Whether a root is at `path` or below it. */
  holdsRoot(path: string): boolean {
    return this.#roots.some(({ real }) => isInside(real, path));
  }

  async #walk(argument: PathArgument, options: SpotOptions): Promise<Spot | Place> {
    let path = argument.value;
    for (let links = 0; links <= LINKS_MAX; links += 1) {
      const { root, names } = this.#locate(argument, path);
      const end = await this.#descend(argument, { root, names, ...options });
      if (!('link' in end)) return end;
      path = end.link;
    }
    throw new LangoError('invalid-input', `${quote(argument)}: its links lead in a circle.`);
  }

  /** The root that a path lies in, and the names from there. Looks at the text only. */
  #locate(argument: PathArgument, path: string): { root: Root; names: string[] } {
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
    { root, names, follow, make }: SpotOptions & { readonly root: Root; readonly names: readonly string[] },
  ): Promise<Step> {
    let folder = await this.#hold(root.real, root.real);
    for (const [index, name] of names.entries()) {
      if (!folder.stats.isDirectory()) {
        throw new LangoError(
          'invalid-input',
          `${quote(argument)}: "${this.show(folder.path)}" is not a folder.`,
        );
      }
      const isLast = index === names.length - 1;
      const place = await this.child(folder, name);
      if (place?.stats.isSymbolicLink() && (follow || !isLast)) {
        const target = await readlink(`${folder.at}/${name}`);
        return { link: resolve(folder.path, target, ...names.slice(index + 1)) };
      }
      if (isLast) return { folder, name, path: resolve(folder.path, name), place };
      if (place === undefined && !make) throw missing(argument);
      folder = place ?? (await this.makeFolder(folder, name));
    }
    return folder;
  }

  async #hold(at: string, path: string): Promise<Place> {
    const place = await holdPlace(at, path);
    this.#held.add(place);
    return place;
  }
}

function quote({ name, value }: PathArgument): string {
  return `${name}: "${value}"`;
}

export function missing(argument: PathArgument): LangoError {
  return new LangoError('not-found', `${quote(argument)} does not exist; fs_list shows what there is.`);
}

function isSpot(end: Spot | Place): end is Spot {
  return 'folder' in end;
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === sep ? sep : folder + sep);
}
