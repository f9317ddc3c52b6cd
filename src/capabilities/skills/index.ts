import { z } from 'zod';
import { defineCapability, type CapabilityContext } from '../../core/capability.js';
import { hashJson } from '../../core/canonical-json.js';
import { flag, group, HOME_MARK, path } from '../../core/fields.js';
import { offer } from '../../core/service.js';
import { off, on } from '../../core/tool-family.js';
import type { Scope } from '../../core/task.js';
import type { Tool, ToolSource } from '../../core/tool.js';
import { DISK, ownersFolder, READABLE_FOLDERS } from '../../disk/disk.js';
import { PARSERS, type Parsers } from '../../parsing/parsers.js';
import { SKILL_OPERATIONS } from './operations.js';
import { BorrowedSkills, type SkillsElsewhere } from './borrowed.js';
import { SkillCatalog, type SkillCatalogOptions, type StoredSkill } from './catalog.js';
import { createSkillTool, importSkillTool } from './create-skill.js';
import { copiedSkills, ownedSkills, savedSkills } from './owned.js';
import { listSkillsTool, SKILL_KIND, skillTool } from './skill-tool.js';

const SETTINGS = {
  'tools.skills': group('Skills: instructions for particular tasks, each a folder with a SKILL.md.', {
    enabled: flag(true, 'Offer the skills and the tools that manage them.'),
    folders: z
      .array(path())
      .default([`${HOME_MARK}/skills`])
      .describe('Folders with skills for all users. Each skill is a subfolder with a SKILL.md.'),
    workspace: flag(
      true,
      'Also use the skills in the folder `skills` of the workspace. Agents can write there.',
    ),
  }),
};

/** Skills: instructions for particular tasks, in the public format. */
export const skills = defineCapability({
  name: 'skills',
  settings: SETTINGS,
  operations: SKILL_OPERATIONS,
  sentences: [
    ['which skills are there?', 'list_skills'],
    ['create a skill named {name}: {instructions...}', 'create_skill'],
    ['import the skill {path}', 'import_skill'],
    ['use the skill {name}', 'skill_{name}'],
  ],
  keeps: {
    skills: { what: 'the skills that owners save', right: 'read the skills that the owner saved' },
  },
  forgets: { skill: 'skills' },
  open(context) {
    const { enabled } = context.settings['tools.skills'];
    let made: ReturnType<typeof createSkills> | undefined;
    const skills = () => (made ??= openSkills(context));
    return {
      offers: enabled ? [offer(READABLE_FOLDERS, (scope) => skills().folders(scope))] : [],
      get ownedData() {
        return skills().ownedData;
      },
      operations: {
        async listSkills({ unless }, { scope }) {
          const list = await skills().saved.list(scope);
          const version = hashJson(list);
          return version === unless ? { version } : { version, skills: list };
        },
        readSkill: ({ name, after }, { scope }) => skills().saved.read(scope, name, after),
      },
      async families() {
        if (!enabled) return [off('skills')];
        const { tools, source } = skills();
        await source.refresh(undefined);
        return [{ ...on('skills', tools), sources: [source] }];
      },
    };
  },
});

function openSkills({ settings, node, services, keepingNode, logger }: CapabilityContext<typeof SETTINGS>) {
  const { folders, workspace } = settings['tools.skills'];
  const keeper = keepingNode('skills');
  return createSkills({
    shared: folders,
    ...services.require(DISK),
    hasWorkspaceSkills: workspace,
    owned: ownersFolder(node.home, keeper ? 'copies' : 'own'),
    elsewhere: keeper && ((scope) => keeper.clientFor(SKILL_OPERATIONS, scope)),
    parsers: services.require(PARSERS),
    logger,
  });
}

interface SkillsOptions extends SkillCatalogOptions {
  /** Reads archives of skills. */
  readonly parsers: Parsers;
  /** The node that keeps the skills of owners; `owned` then holds copies. Default: this one keeps them. */
  readonly elsewhere?: SkillsElsewhere | undefined;
}

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
      : [createSkillTool(catalog), listSkillsTool(catalog), importSkillTool(catalog, options)],
    source,
    ownedData: borrowed ? copiedSkills(borrowed) : ownedSkills(catalog),
    /** Those that owners saved here, for other nodes that use them. */
    saved: savedSkills(catalog),
    /** The existing folders outside the workspace that commands of this owner need to read. */
    folders: (scope: Scope) => catalog.folders(scope),
  };
}
