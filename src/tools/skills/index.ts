import type { OwnedKind } from '../../core/page.js';
import type { Scope } from '../../core/task.js';
import type { Tool, ToolSource } from '../../core/tool.js';
import { SkillShelf, type KeptSkill, type ShelfOptions } from './catalog.js';
import { createSkillTool, importSkillTool } from './create-skill.js';
import { ownedSkills } from './owned.js';
import { listSkillsTool, SKILL_KIND, skillTool } from './skill-tool.js';

/** The family of skills: tools that keep them, and one tool for each that is kept. */
export interface Skills {
  readonly tools: readonly Tool[];
  readonly source: ToolSource;
  readonly kept: OwnedKind;
  /** Folders outside the workspace that commands of this owner need to see. They exist. */
  folders(scope: Scope): readonly string[];
}

export function createSkills(options: ShelfOptions): Skills {
  const shelf = new SkillShelf(options);
  // A skill that did not change is the same tool.
  const made = new WeakMap<KeptSkill, Tool>();
  const toTool = (skill: KeptSkill): Tool => {
    const tool = made.get(skill) ?? skillTool(skill);
    made.set(skill, tool);
    return tool;
  };
  return {
    tools: [createSkillTool(shelf), listSkillsTool(shelf), importSkillTool(shelf, options.roots)],
    source: {
      kind: SKILL_KIND,
      refresh: (scope) => shelf.refresh(scope),
      prepare: (scope) => shelf.prepare(scope),
      list: (scope) => shelf.list(scope).map(toTool),
    },
    kept: ownedSkills(shelf),
    folders: (scope) => shelf.folders(scope),
  };
}
