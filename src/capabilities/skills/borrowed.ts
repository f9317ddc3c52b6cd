import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { errorText, isLangoError, LangoError } from '../../core/errors.js';
import { parseJson } from '../../core/json.js';
import type { Logger } from '../../core/logger.js';
import type { OperationClient } from '../../core/operation.js';
import { pagesOf } from '../../core/page.js';
import { scopeKey, type Scope } from '../../core/task.js';
import { waitAtMost } from '../../core/time.js';
import type { SkillCatalog } from './catalog.js';
import { checkedPath, SKILL_MAX_BYTES, SkillSize, type SkillFile } from './files.js';
import type { SKILL_OPERATIONS } from './operations.js';
import { NAME_MAX_LENGTH, NAME_PATTERN, parseSkillText, SKILL_FILE } from './skill-file.js';

/** Makes clients of the node that stores the skills of owners. */
export type SkillsElsewhere = (scope: Scope) => Promise<OperationClient<typeof SKILL_OPERATIONS>>;

/** Maximum time that a run waits for the node that stores the skills. After it, the run uses the existing copies. */
const REFRESH_WAIT_MS = 2_000;
const SKILLS_MAX = 200;
const OWNER_MAX_BYTES = 5 * SKILL_MAX_BYTES;
/** The file in the folder of the copies that records their versions. No skill can have this name. */
const STATE_FILE = '.copied.json';

const copied = z.object({
  version: z.string(),
  /** The copied skills by name. A skill that was left out has 0 bytes. */
  skills: z.record(z.string(), z.object({ version: z.string(), bytes: z.number() })),
});

/**
 * Copies of the skills that owners save on another node. Their scripts run here like those of this node. Each run of an
 * owner first asks that node for changes and copies the changed skills.
 */
export class BorrowedSkills {
  readonly #catalog: SkillCatalog;
  readonly #elsewhere: SkillsElsewhere;
  readonly #logger: Logger;
  readonly #refreshing = new Map<string, Promise<void>>();

  constructor(catalog: SkillCatalog, elsewhere: SkillsElsewhere, logger: Logger) {
    this.#catalog = catalog;
    this.#elsewhere = elsewhere;
    this.#logger = logger;
  }

  /**
   * Resolves once the copies are up to date, after `REFRESH_WAIT_MS` at the latest; then the refresh continues in the
   * background. Never rejects.
   */
  async refresh(scope: Scope): Promise<void> {
    const owner = scopeKey(scope);
    const refreshing =
      this.#refreshing.get(owner) ??
      this.#copyChanged(scope)
        .catch((error: unknown) => {
          const fields = { owner: scope.owner, error: errorText(error) };
          this.#logger.warn('the skills of an owner could not be refreshed; the copies are used', fields);
        })
        .finally(() => this.#refreshing.delete(owner));
    this.#refreshing.set(owner, refreshing);
    await waitAtMost(REFRESH_WAIT_MS, refreshing);
  }

  async #copyChanged(scope: Scope): Promise<void> {
    const folder = this.#catalog.ownerFolder(scope);
    // Undefined without a record of the copies, and when it cannot be read.
    const state = await readFile(join(folder, STATE_FILE), 'utf8').catch(() => '');
    const before = copied.safeParse(parseJson(state)).data;
    const client = await this.#elsewhere(scope);
    const { version, skills } = await client.listSkills({ unless: before?.version });
    if (!skills || (skills.length === 0 && !before)) return;
    const after: z.output<typeof copied> = { version, skills: {} };
    let bytes = 0;
    const valid = skills.filter(({ name }) => name.length <= NAME_MAX_LENGTH && NAME_PATTERN.test(name));
    for (const { name, version: newest } of valid.slice(0, SKILLS_MAX)) {
      const kept = before?.skills[name];
      const isSame = kept?.version === newest;
      const size = isSame ? kept.bytes : await this.#copy(scope, name, OWNER_MAX_BYTES - bytes);
      after.skills[name] = { version: newest, bytes: size };
      bytes += size;
    }
    for (const name of Object.keys(before?.skills ?? {}).filter((one) => !after.skills[one]))
      await this.remove(scope, name);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(join(folder, STATE_FILE), JSON.stringify(after), { mode: 0o600 });
    await this.#catalog.refresh(scope);
  }

  /** Resolves with the size of the copy; 0 for a skill that is left out because it is too large or invalid. */
  async #copy(scope: Scope, name: string, remainingBytes: number): Promise<number> {
    try {
      const files = await this.#download(scope, name, remainingBytes);
      const main = files.find(({ path }) => path === SKILL_FILE);
      const text = await parseSkillText(main?.content.toString('utf8') ?? '');
      if (text.name !== name) throw new LangoError('invalid-input', `It calls itself ${text.name}.`);
      await this.#catalog.save(scope, files, { replace: true, fromOutside: false });
      return sizeOf(files);
    } catch (error) {
      if (!isLangoError(error, 'invalid-input') && !isLangoError(error, 'too-large')) throw error;
      this.#logger.warn('a skill was left out', { skill: name, owner: scope.owner, error: errorText(error) });
      await this.remove(scope, name);
      return 0;
    }
  }

  async #download(scope: Scope, name: string, remainingBytes: number): Promise<readonly SkillFile[]> {
    const files: SkillFile[] = [];
    const size = new SkillSize();
    const read = async (after: string | undefined) =>
      (await this.#elsewhere(scope)).readSkill({ name, after });
    for await (const page of pagesOf(read)) {
      if (page.files.length === 0 && page.next !== undefined)
        throw new LangoError('invalid-input', 'The other server sent a page without files.');
      for (const { path, base64, isExecutable } of page.files) {
        const content = Buffer.from(base64, 'base64');
        size.add(path, content.length);
        files.push({ path: checkedPath(path), content, isExecutable });
      }
    }
    if (sizeOf(files) > remainingBytes) {
      const most = `the skills of one owner have at most ${OWNER_MAX_BYTES} bytes here`;
      throw new LangoError('too-large', `The skill cannot be copied: ${most}.`);
    }
    return files;
  }

  /** Removes a copy. The next refresh copies the skill again if the other node still has it. */
  async remove(scope: Scope, name: string): Promise<void> {
    if (!NAME_PATTERN.test(name)) return;
    const folder = this.#catalog.ownerFolder(scope);
    await rm(join(folder, STATE_FILE), { force: true });
    await rm(join(folder, name), { recursive: true, force: true });
    await this.#catalog.refresh(scope);
  }

  async removeAll(scope: Scope): Promise<void> {
    await rm(this.#catalog.ownerFolder(scope), { recursive: true, force: true });
    await this.#catalog.refresh(scope);
  }
}

function sizeOf(files: readonly SkillFile[]): number {
  return files.reduce((sum, { content }) => sum + content.length, 0);
}
