import { z } from 'zod';
import { defineCapability, type CapabilityContext } from '../../core/capability.js';
import { hashJson } from '../../core/canonical-json.js';
import { flag, group, HOME_MARK, path } from '../../core/fields.js';
import { offer } from '../../core/service.js';
import { off } from '../../core/tool-family.js';
import { DISK, ownersFolder, READABLE_FOLDERS } from '../../disk/disk.js';
import { PARSERS } from '../../parsing/parsers.js';
import { SKILL_OPERATIONS } from './operations.js';
import { createSkills, type Skills } from './skills.js';

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
    let made: Skills | undefined;
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
        return [{ name: 'skills', state: 'on', tools, sources: [source] }];
      },
    };
  },
});

function openSkills({
  settings,
  node,
  services,
  keepingNode,
  logger,
}: CapabilityContext<typeof SETTINGS>): Skills {
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
