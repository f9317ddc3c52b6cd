import type { Scope } from '../../core/task.js';
import type { Tool, ToolSource } from '../../core/tool.js';
import type { Parsers } from '../../parsing/parsers.js';
import { BorrowedSkills, type SkillsElsewhere } from './borrowed.js';
import { SkillCatalog, type StoredSkill, type SkillCatalogOptions } from './catalog.js';
import { createSkillTool, importSkillTool } from './create-skill.js';
import { copiedSkills, ownedSkills, savedSkills } from './owned.js';
import { listSkillsTool, SKILL_KIND, skillTool } from './skill-tool.js';

interface SkillsOptions extends SkillCatalogOptions {
  /** Reads archives of skills. */
  readonly parsers: Parsers;
  /** The node that keeps the skills of owners; `owned` then holds copies. Default: this one keeps them. */
  readonly elsewhere?: SkillsElsewhere | undefined;
}

export type Skills = ReturnType<typeof createSkills>;

/** The tools that manage skills, and one tool for each skill. */
export function createSkills(options: SkillsOptions) {
  const catalog = new SkillCatalog(options);
  const borrowed = options.elsewhere && new BorrowedSkills(catalog, options.elsewhere, options.logger);
  // An unchanged skill stays the same tool object.
  const toolOfSkill = new WeakMap<StoredSkill, Tool>();
  const toTool = (skill: StoredSkill): Tool => {
    const tool = toolOfSkill.get(skill) ?? skillTool(skill);
    toolOfSkill.set(skill, tool);
    return tool;
  };
  const source: ToolSource = {
    kind: SKILL_KIND,
    async refresh(scope) {
      if (scope) await borrowed?.refresh(scope);
      await catalog.refresh(scope);
    },
    async prepare(scope) {
      await borrowed?.refresh(scope);
      await catalog.prepare(scope);
    },
    list: (scope) => catalog.list(scope).map(toTool),
  };
  return {
    tools: borrowed
      ? [listSkillsTool(catalog)]
      : [createSkillTool(catalog, options), listSkillsTool(catalog), importSkillTool(catalog, options)],
    source,
    ownedData: borrowed ? copiedSkills(borrowed) : ownedSkills(catalog),
    /** Those that owners saved here, for other nodes that use them. */
    saved: savedSkills(catalog),
    /** The existing folders outside the workspace that commands of this owner need to read. */
    folders: (scope: Scope) => catalog.folders(scope),
  };
}
