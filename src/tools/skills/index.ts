import type { OwnedKind } from '../../stores/page.js';
import type { Scope } from '../../core/task.js';
import type { Tool, ToolSource } from '../../core/tool.js';
import type { Parsers } from '../parsers.js';
import { SkillCatalog, type StoredSkill, type SkillCatalogOptions } from './catalog.js';
import { createSkillTool, importSkillTool } from './create-skill.js';
import { ownedSkills } from './owned.js';
import { listSkillsTool, SKILL_KIND, skillTool } from './skill-tool.js';

export { ownedSkillsFolder } from './catalog.js';

/** The tools that manage skills, and one tool for each skill. */
export interface Skills {
  readonly tools: readonly Tool[];
  readonly source: ToolSource;
  readonly ownedData: OwnedKind;
  /** The existing folders outside the workspace that commands of this owner need to read. */
  folders(scope: Scope): readonly string[];
}

export interface SkillsOptions extends SkillCatalogOptions {
  /** Reads archives of skills. */
  readonly parsers: Parsers;
}

export function createSkills(options: SkillsOptions): Skills {
  const catalog = new SkillCatalog(options);
  // An unchanged skill stays the same tool object.
  const toolOfSkill = new WeakMap<StoredSkill, Tool>();
  const toTool = (skill: StoredSkill): Tool => {
    const tool = toolOfSkill.get(skill) ?? skillTool(skill);
    toolOfSkill.set(skill, tool);
    return tool;
  };
  return {
    tools: [createSkillTool(catalog, options), listSkillsTool(catalog), importSkillTool(catalog, options)],
    source: {
      kind: SKILL_KIND,
      refresh: (scope) => catalog.refresh(scope),
      prepare: (scope) => catalog.prepare(scope),
      list: (scope) => catalog.list(scope).map(toTool),
    },
    ownedData: ownedSkills(catalog),
    folders: (scope) => catalog.folders(scope),
  };
}
