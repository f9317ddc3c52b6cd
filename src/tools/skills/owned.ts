import { isUtf8 } from 'node:buffer';
import { rm } from 'node:fs/promises';
import type { OwnedKind } from '../../core/page.js';
import type { Scope } from '../../core/task.js';
import { pageBySize, type SizedPage } from '../../stores/paging.js';
import type { StoredSkill, SkillCatalog } from './catalog.js';
import { listFiles, readInside } from './files.js';

interface SkillFileEntry {
  readonly skill: StoredSkill;
  readonly path: string;
  /** Position in the list, for paging. */
  readonly cursor: string;
}

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
      const files = await filesOf(await ownSkills(scope));
      return pageBySize(after, async (last) => {
        const file = files.find(({ cursor }) => cursor > last);
        return file
          ? { ...(await toBatch(file)), next: file.cursor }
          : { items: [], size: 0, next: undefined };
      });
    },
    async remove(scope, name) {
      return removeFolders(
        scope,
        (await ownSkills(scope)).filter((skill) => skill.name === name),
      );
    },
    // Also removes the remains of damaged skills.
    async removeAll(scope) {
      const count = await removeFolders(scope, await ownSkills(scope));
      await rm(catalog.ownerFolder(scope), { recursive: true, force: true });
      return count;
    },
  };
}

async function filesOf(skills: readonly StoredSkill[]): Promise<readonly SkillFileEntry[]> {
  const files: SkillFileEntry[] = [];
  for (const skill of skills) {
    for (const path of await listFiles(skill.folder)) {
      files.push({ skill, path, cursor: `${skill.name}/${path}` });
    }
  }
  return files.sort((a, b) => (a.cursor < b.cursor ? -1 : 1));
}

async function toBatch({ skill, path }: SkillFileEntry): Promise<Omit<SizedPage, 'next'>> {
  const { content, isExecutable } = await readInside(skill.folder, path);
  const { name, fromOutside } = skill;
  const whole = isUtf8(content) ? { text: content.toString('utf8') } : { base64: content.toString('base64') };
  return { items: [{ skill: name, path, fromOutside, isExecutable, ...whole }], size: content.length };
}
