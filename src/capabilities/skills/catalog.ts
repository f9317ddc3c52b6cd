import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { codeOf, errorText, LangoError } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';
import type { Scope } from '../../core/task.js';
import type { DiskBudget, Writer } from '../../disk/disk-budget.js';
import { ENTRY_BYTES } from '../../disk/disk-use.js';
import { ownerFolder } from '../../disk/disk.js';
import { ownerHash, type WorkFolders } from '../../disk/work-folders.js';
import { readFolder, readInside, type SkillFile } from './files.js';
import { markFromOutside, parseSkillText, SKILL_FILE, type SkillText } from './skill-file.js';

/** A skill as stored in its folder. */
export interface StoredSkill extends Omit<SkillText, 'instructions'> {
  /** Absolute, without symbolic links. */
  readonly folder: string;
  /** `server`: installed for every owner. `owner`: saved by one owner. `workspace`: in a folder that agents can write to. */
  readonly origin: 'server' | 'owner' | 'workspace';
}

export interface SkillCatalogOptions {
  /** Folders of skills for every owner; they need not exist. */
  readonly shared: readonly string[];
  /** The folders of the workspace. Their folder `skills` holds skills. */
  readonly folders: WorkFolders;
  readonly budget: DiskBudget;
  /** Whether skills of the workspace are used. */
  readonly hasWorkspaceSkills: boolean;
  /** The folder of the owners' own skills. */
  readonly owned: string;
  readonly logger: Logger;
}

interface SaveSkillOptions {
  /** Replaces an existing skill of this name. */
  readonly replace: boolean;
  /** The skill stems from text from outside and is marked accordingly. */
  readonly fromOutside: boolean;
}

interface SkillLocation extends Pick<StoredSkill, 'folder' | 'origin'> {
  /** A skill folder is used only if its real path, with links resolved, is inside this folder. */
  readonly within: string;
}

const SKILLS_MAX = 200;
const SKILL_FILE_MAX_BYTES = 256 * 1024;
const EXECUTABLE_MODE = 0o755;
const PLAIN_MODE = 0o644;
const WHOSE = { owner: 'of yours', server: 'of this server', workspace: 'in the workspace' } as const;

/** The available skills as of the last refresh. Of several skills with the same name, only the first is listed. */
export class SkillCatalog {
  readonly #options: SkillCatalogOptions;
  readonly #warned = new Set<string>();
  #common: readonly StoredSkill[] = [];
  readonly #ofOwner = new Map<string, readonly StoredSkill[]>();

  constructor(options: SkillCatalogOptions) {
    this.#options = options;
  }

  /** Reads the skills again. Never rejects: an unreadable skill is left out, with one warning. */
  async refresh(scope: Scope | undefined): Promise<void> {
    const { shared, folders } = this.#options;
    const common = await Promise.all([
      ...shared.map((folder) => this.#scan({ folder, within: folder, origin: 'server' })),
      ...this.#scanWorkspace(folders.shared),
    ]);
    this.#common = firstOfEachName(common.flat());
    if (!scope) return;
    const folder = this.ownerFolder(scope);
    const own = await Promise.all([
      this.#scan({ folder, within: folder, origin: 'owner' }),
      ...this.#scanWorkspace(folders.isApart ? folders.of(scope) : []),
    ]);
    this.#ofOwner.set(ownerHash(scope), own.flat());
  }

  /** Reads the skills of an owner for the first time. Later changes to them happen only through this catalog. */
  async prepare(scope: Scope): Promise<void> {
    if (!this.#ofOwner.has(ownerHash(scope))) await this.refresh(scope);
  }

  /** Lists the skills of an owner; without a scope, the skills for every owner. */
  list(scope: Scope | undefined): readonly StoredSkill[] {
    const own = scope ? (this.#ofOwner.get(ownerHash(scope)) ?? []) : [];
    return firstOfEachName([...own, ...this.#common]);
  }

  /** The existing folders outside the workspace that commands of this owner need to read. */
  folders(scope: Scope): readonly string[] {
    const outside = this.list(scope).filter(({ origin }) => origin !== 'workspace');
    return [...new Set(outside.map(({ folder }) => folder))];
  }

  ownerFolder(scope: Scope): string {
    return ownerFolder(this.#options.owned, scope);
  }

  /**
   * Saves a skill for this owner, completely or not at all. Saving the same content again changes nothing. Rejects with
   * `conflict` when another skill has this name and `replace` is not set, and with `invalid-input` or `too-large` when
   * SKILL.md is wrong.
   */
  async save(scope: Scope, given: readonly SkillFile[], options: SaveSkillOptions): Promise<StoredSkill> {
    const files = options.fromOutside ? await Promise.all(given.map(withOutsideMark)) : given;
    const main = files.find(({ path }) => path === SKILL_FILE);
    if (!main) throw new LangoError('invalid-input', `The skill has no ${SKILL_FILE}.`);
    if (main.content.length > SKILL_FILE_MAX_BYTES)
      throw new LangoError('too-large', `${SKILL_FILE} is larger than ${SKILL_FILE_MAX_BYTES / 1_024} KiB.`, {
        hint: 'Move details into additional files of the skill.',
      });
    const { name, description, fromOutside } = await parseSkillText(main.content.toString('utf8'));
    const known = this.list(scope).find((skill) => skill.name === name);
    if (known && !options.replace && !(await hasSameContent(known.folder, files)))
      throw new LangoError('conflict', `A skill named ${name} ${WHOSE[known.origin]} already exists.`, {
        hint: 'Choose another name, or set replace to replace it.',
      });
    const ownerFolder = this.ownerFolder(scope);
    await mkdir(ownerFolder, { recursive: true, mode: 0o700 });
    const folder = join(await realpath(ownerFolder), name);
    await replaceFolder(folder, files);
    await this.refresh(scope);
    return { name, description, fromOutside, folder, origin: 'owner' };
  }

  /** Saves a skill like `save`, for a call that the budget of its owner allows. */
  saveWithin(call: Writer, files: readonly SkillFile[], options: SaveSkillOptions): Promise<StoredSkill> {
    const { tenant, owner } = call;
    // The files and their folder. The next measurement subtracts the skill that they replace.
    const bytes = files.reduce(
      (sum, { content }) => sum + Math.max(content.length, ENTRY_BYTES),
      ENTRY_BYTES,
    );
    return this.#options.budget.spend(call, bytes, () => this.save({ tenant, owner }, files, options));
  }

  #scanWorkspace(roots: readonly string[]): readonly Promise<readonly StoredSkill[]>[] {
    if (!this.#options.hasWorkspaceSkills) return [];
    return roots.map((root) =>
      this.#scan({ folder: join(root, 'skills'), within: root, origin: 'workspace' }),
    );
  }

  async #scan({ folder, within, origin }: SkillLocation): Promise<readonly StoredSkill[]> {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
    const limit = folders.length > 0 ? await realpath(within).catch(() => undefined) : undefined;
    if (limit === undefined) return [];
    const names = folders.map(({ name }) => name).sort();
    const skills = await Promise.all(
      names.slice(0, SKILLS_MAX).map(async (name) => {
        const real = await realpath(join(folder, name)).catch(() => '');
        return real.startsWith(limit + sep) ? this.#read(real, origin) : undefined;
      }),
    );
    return skills.filter((skill) => skill !== undefined);
  }

  async #read(folder: string, origin: StoredSkill['origin']): Promise<StoredSkill | undefined> {
    try {
      const { content } = await readInside(folder, SKILL_FILE, SKILL_FILE_MAX_BYTES);
      const { name, description, fromOutside } = await parseSkillText(content.toString('utf8'));
      // Agents may write to the workspace what they read outside, so its skills count as from outside.
      return { name, description, fromOutside: fromOutside || origin === 'workspace', folder, origin };
    } catch (error) {
      if (!this.#warned.has(folder))
        this.#options.logger.warn('a skill was left out', { folder, error: errorText(error) });
      this.#warned.add(folder);
      return undefined;
    }
  }
}

function firstOfEachName(skills: readonly StoredSkill[]): readonly StoredSkill[] {
  const byName = new Map<string, StoredSkill>();
  for (const skill of skills) if (!byName.has(skill.name)) byName.set(skill.name, skill);
  return [...byName.values()];
}

async function withOutsideMark(file: SkillFile): Promise<SkillFile> {
  if (file.path !== SKILL_FILE) return file;
  return { ...file, content: Buffer.from(await markFromOutside(file.content.toString('utf8'))) };
}

async function hasSameContent(folder: string, files: readonly SkillFile[]): Promise<boolean> {
  const stored = await readFolder(folder).catch(() => []);
  const contents = new Map(stored.map(({ path, content }) => [path, content]));
  const isStored = ({ path, content }: SkillFile) => contents.get(path)?.equals(content);
  return stored.length === files.length && files.every(isStored);
}

/** Writes the files to a new folder next to the old one, swaps the two, and then deletes the old one. */
async function replaceFolder(folder: string, files: readonly SkillFile[]): Promise<void> {
  const mark = randomBytes(6).toString('hex');
  const fresh = join(dirname(folder), `.new-${mark}`);
  const old = join(dirname(folder), `.old-${mark}`);
  try {
    for (const { path, content, isExecutable } of files) {
      const file = join(fresh, path);
      await mkdir(dirname(file), { recursive: true, mode: 0o755 });
      await writeFile(file, content, { flag: 'wx' });
      await chmod(file, isExecutable ? EXECUTABLE_MODE : PLAIN_MODE);
    }
    await rename(folder, old).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error;
    });
    await rename(fresh, folder);
  } finally {
    await rm(fresh, { recursive: true, force: true });
    await rm(old, { recursive: true, force: true });
  }
}
