import { isUtf8 } from 'node:buffer';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LangoError } from '../../core/errors.js';
import type { OwnedData } from '../../core/page.js';
import type { SavedSkillFile, SavedSkills } from './saved-skills.js';
import type { Scope } from '../../core/task.js';
import { pageBySize, type SizedPage } from '../../core/page.js';
import type { StoredSkill, SkillCatalog } from './catalog.js';
import type { BorrowedSkills } from './borrowed.js';
import { listFiles, readInside } from './files.js';
import { SKILL_FILE } from './skill-file.js';

/** The skills saved by `create_skill` and `import_skill`, listed file by file for each owner. */
export function ownedSkills(catalog: SkillCatalog): OwnedData {
  const ownSkills = (scope: Scope) => listOwned(catalog, scope);
  const removeFolders = async (scope: Scope, skills: readonly StoredSkill[]): Promise<number> => {
    for (const { folder } of skills) await rm(folder, { recursive: true });
    await catalog.refresh(scope);
    return skills.length;
  };
  return {
    kinds: {
      skills: {
        async list(scope, after) {
          const skills = await ownSkills(scope);
          const files = await Promise.all(
            skills.map(async (skill) =>
              (await listFiles(skill.folder)).map((path) => ({
                skill,
                path,
                cursor: `${skill.name}/${path}`,
              })),
            ),
          );
          const sorted = files.flat().sort((a, b) => (a.cursor < b.cursor ? -1 : 1));
          return pageBySize(after, async (last) => {
            const file = sorted.find(({ cursor }) => cursor > last);
            if (!file) return { items: [], size: 0, next: undefined };
            return { ...(await toBatch(file.skill, file.path)), next: file.cursor };
          });
        },
        async forget(scope, name) {
          const named = (await ownSkills(scope)).filter((skill) => skill.name === name);
          return { skills: await removeFolders(scope, named) };
        },
      },
    },
    // Also removes the remains of damaged skills.
    async removeAll(scope) {
      const count = await removeFolders(scope, await ownSkills(scope));
      await rm(catalog.ownerFolder(scope), { recursive: true, force: true });
      return { skills: count };
    },
  };
}

async function toBatch(skill: StoredSkill, path: string): Promise<Omit<SizedPage, 'next'>> {
  const { content, isExecutable } = await readInside(skill.folder, path);
  const { name, fromOutside } = skill;
  const whole = isUtf8(content) ? { text: content.toString('utf8') } : { base64: content.toString('base64') };
  return { items: [{ skill: name, path, fromOutside, isExecutable, ...whole }], size: content.length };
}

async function listOwned(catalog: SkillCatalog, scope: Scope): Promise<readonly StoredSkill[]> {
  await catalog.refresh(scope);
  return catalog.list(scope).filter(({ origin }) => origin === 'owner');
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

/** The skills that owners saved on this node, as other nodes read them. */
export function savedSkills(catalog: SkillCatalog): SavedSkills {
  return {
    async list(scope) {
      const skills = await listOwned(catalog, scope);
      const versions = skills.map(async ({ name, folder }) => {
        // Each save creates a new folder, so its inode and times identify the version.
        const [{ ino, ctimeMs }, file] = await Promise.all([stat(folder), stat(join(folder, SKILL_FILE))]);
        return { name, version: `${ino}-${ctimeMs}-${file.mtimeMs}` };
      });
      return (await Promise.all(versions)).sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    async read(scope, name, after) {
      const skill = (await listOwned(catalog, scope)).find((one) => one.name === name);
      if (!skill) throw new LangoError('not-found', `You have no skill "${name.slice(0, 80)}".`);
      const paths = await listFiles(skill.folder);
      const page = await pageBySize(after, async (last) => {
        const path = paths.find((one) => one > last);
        if (path === undefined) return { items: [], size: 0, next: undefined };
        const { content, isExecutable } = await readInside(skill.folder, path);
        const item: SavedSkillFile = { path, base64: content.toString('base64'), isExecutable };
        return { items: [item], size: content.length, next: path === paths.at(-1) ? undefined : path };
      });
      return { items: page.items as readonly SavedSkillFile[], next: page.next };
    },
  };
}
