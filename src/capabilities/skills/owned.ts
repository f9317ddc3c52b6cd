import { isUtf8 } from 'node:buffer';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LangoError } from '../../core/errors.js';
import { pageBySize, type OwnedData, type Page } from '../../core/page.js';
import type { Scope } from '../../core/task.js';
import type { BorrowedSkills } from './borrowed.js';
import type { StoredSkill, SkillCatalog } from './catalog.js';
import { listFiles, readInside, type SkillFile } from './files.js';
import type { SavedSkillFile, SkillVersion } from './operations.js';
import { SKILL_FILE } from './skill-file.js';

/** The skills saved by `create_skill` and `import_skill`, listed file by file for each owner. */
export function ownedSkills(catalog: SkillCatalog): OwnedData {
  return {
    kinds: {
      skills: {
        async list(scope, after) {
          const skills = await listOwned(catalog, scope);
          return pageOfFiles(after, skills, ({ name, fromOutside }, { path, content, isExecutable }) => ({
            ...{ skill: name, path, fromOutside, isExecutable },
            ...(isUtf8(content)
              ? { text: content.toString('utf8') }
              : { base64: content.toString('base64') }),
          }));
        },
        async forget(scope, name) {
          const named = (await listOwned(catalog, scope)).filter((skill) => skill.name === name);
          for (const { folder } of named) await rm(folder, { recursive: true });
          await catalog.refresh(scope);
          return { skills: named.length };
        },
      },
    },
    // Also removes the remains of damaged skills.
    async removeAll(scope) {
      const { length } = await listOwned(catalog, scope);
      await rm(catalog.ownerFolder(scope), { recursive: true, force: true });
      await catalog.refresh(scope);
      return { skills: length };
    },
  };
}

/** The copies of skills that another node keeps: they are deleted with the owner's data, and that node counts and lists them. */
export function copiedSkills(borrowed: BorrowedSkills): OwnedData {
  return {
    kinds: {
      skills: {
        list: async () => ({ items: [], next: undefined }),
        async forget(scope, name) {
          await borrowed.remove(scope, name);
          return { skills: 0 };
        },
      },
    },
    async removeAll(scope) {
      await borrowed.removeAll(scope);
      return { skills: 0 };
    },
  };
}

/** The skills that owners saved on this node, as other nodes read them. Those of other owners are absent. */
export function savedSkills(catalog: SkillCatalog) {
  return {
    /** Lists them by name. */
    async list(scope: Scope): Promise<readonly SkillVersion[]> {
      const skills = await listOwned(catalog, scope);
      const versions = skills.map(async ({ name, folder }) => {
        // Each save creates a new folder, so its inode and times identify the version.
        const [{ ino, ctimeMs }, file] = await Promise.all([stat(folder), stat(join(folder, SKILL_FILE))]);
        return { name, version: `${ino}-${ctimeMs}-${file.mtimeMs}` };
      });
      return (await Promise.all(versions)).sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    /** Reads some files; `after` is the `next` of the page before. Rejects with `not-found`. */
    async read(scope: Scope, name: string, after: string) {
      const skill = (await listOwned(catalog, scope)).find((one) => one.name === name);
      if (!skill) throw new LangoError('not-found', `You have no skill "${name.slice(0, 80)}".`);
      const toItem = (_: StoredSkill, { path, content, isExecutable }: SkillFile): SavedSkillFile => ({
        ...{ path, base64: content.toString('base64'), isExecutable },
      });
      const { items: files, next } = await pageOfFiles(after, [skill], toItem);
      return { files, next };
    },
  };
}

async function listOwned(catalog: SkillCatalog, scope: Scope): Promise<readonly StoredSkill[]> {
  await catalog.refresh(scope);
  return catalog.list(scope).filter(({ origin }) => origin === 'owner');
}

/** Reads the files of skills after a cursor, in the order of the cursors, until the page is full. */
async function pageOfFiles<Item>(
  after: string,
  skills: readonly StoredSkill[],
  toItem: (skill: StoredSkill, file: SkillFile) => Item,
): Promise<Page<Item>> {
  const lists = skills.map(async (skill) =>
    (await listFiles(skill.folder)).map((path) => ({ skill, path, cursor: `${skill.name}/${path}` })),
  );
  const sorted = (await Promise.all(lists)).flat().sort((a, b) => (a.cursor < b.cursor ? -1 : 1));
  return pageBySize(after, async (last) => {
    const file = sorted.find(({ cursor }) => cursor > last);
    if (!file) return { items: [], size: 0, next: undefined };
    const read = await readInside(file.skill.folder, file.path);
    const next = file === sorted.at(-1) ? undefined : file.cursor;
    return { items: [toItem(file.skill, read)], size: read.content.length, next };
  });
}
