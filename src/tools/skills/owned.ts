import { isUtf8 } from 'node:buffer';
import { rm } from 'node:fs/promises';
import type { OwnedKind } from '../../stores/page.js';
import type { Scope } from '../../core/task.js';
import { pageBySize, type SizedPage } from '../../stores/paging.js';
import type { StoredSkill, SkillCatalog } from './catalog.js';
import { listFiles, readInside } from './files.js';

/** The skills saved by `create_skill` and `import_skill`, listed file by file for each owner. */
export function ownedSkills(catalog: SkillCatalog): OwnedKind {
  const ownSkills = async (scope: Scope): Promise<readonly StoredSkill[]> => {
    await catalog.refresh(scope);
    return catalog.list(scope).filter(({ origin }) => origin === 'owner');
  };
  const removeFolders = async (scope: Scope, skills: readonly StoredSkill[]): Promise<number> => {
    for (const { folder } of skills) await rm(folder, { recursive: true });
    await catalog.refresh(scope);
    return skills.length;
  };
  return {
    kind: 'skills',
    async list(scope, after) {
      const skills = await ownSkills(scope);
      const files = await Promise.all(
        skills.map(async (skill) =>
          (await listFiles(skill.folder)).map((path) => ({ skill, path, cursor: `${skill.name}/${path}` })),
        ),
      );
      const sorted = files.flat().sort((a, b) => (a.cursor < b.cursor ? -1 : 1));
      return pageBySize(after, async (last) => {
        const file = sorted.find(({ cursor }) => cursor > last);
        if (!file) return { items: [], size: 0, next: undefined };
        return { ...(await toBatch(file.skill, file.path)), next: file.cursor };
      });
    },
    remove: async (scope, name) =>
      removeFolders(
        scope,
        (await ownSkills(scope)).filter((skill) => skill.name === name),
      ),
    // Also removes the remains of damaged skills.
    async removeAll(scope) {
      const count = await removeFolders(scope, await ownSkills(scope));
      await rm(catalog.ownerFolder(scope), { recursive: true, force: true });
      return count;
    },
  };
}

async function toBatch(skill: StoredSkill, path: string): Promise<Omit<SizedPage, 'next'>> {
  const { content, isExecutable } = await readInside(skill.folder, path);
  const { name, fromOutside } = skill;
  const whole = isUtf8(content) ? { text: content.toString('utf8') } : { base64: content.toString('base64') };
  return { items: [{ skill: name, path, fromOutside, isExecutable, ...whole }], size: content.length };
}
