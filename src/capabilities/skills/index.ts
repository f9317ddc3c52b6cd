import { defineCapability, type CapabilityContext } from '../../core/capability.js';
import { hashJson } from '../../core/canonical-json.js';
import { KEEPING_NODE } from '../../core/keeping-nodes.js';
import { offer } from '../../core/service.js';
import { off } from '../../core/tool-family.js';
import { DISK, ownersFolder, READABLE_FOLDERS } from '../../disk/disk.js';
import { PARSERS } from '../../parsing/parsers.js';
import { SKILL_OPERATIONS } from './operations.js';
import { SKILL_SENTENCES } from './sentences.js';
import { SKILL_SETTINGS } from './settings.js';
import { createSkills, type Skills, type SkillsElsewhere } from './skills.js';

type Context = CapabilityContext<typeof SKILL_SETTINGS>;

/** Skills: instructions for particular tasks, in the public format. */
export const skills = defineCapability({
  name: 'skills',
  settings: SKILL_SETTINGS,
  operations: SKILL_OPERATIONS,
  sentences: SKILL_SENTENCES,
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
        async readSkill({ name, after }, { scope }) {
          const { items, next } = await skills().saved.read(scope, name, after);
          return { files: items, next };
        },
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

function openSkills({ settings, node, services, logger }: Context): Skills {
  const { folders, workspace } = settings['tools.skills'];
  const elsewhere = skillsElsewhere(services);
  return createSkills({
    shared: folders,
    ...services.require(DISK),
    hasWorkspaceSkills: workspace,
    owned: ownersFolder(node.home, elsewhere ? 'copies' : 'own'),
    elsewhere,
    parsers: services.require(PARSERS),
    logger,
  });
}

function skillsElsewhere(services: Context['services']): SkillsElsewhere | undefined {
  const node = services.require(KEEPING_NODE)('skills');
  if (!node) return undefined;
  return {
    list: async (scope, unless) => (await node.clientFor(SKILL_OPERATIONS, scope)).listSkills({ unless }),
    async read(scope, name, after) {
      const client = await node.clientFor(SKILL_OPERATIONS, scope);
      const { files, next } = await client.readSkill({ name, after });
      return { items: files, next };
    },
  };
}
