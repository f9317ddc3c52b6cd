import { z } from 'zod';
import type { Tool } from '../../core/tool.js';
import { defineTool } from '../../core/tool.js';
import type { SkillShelf } from './shelf.js';

const LIST_TIME_MS = 30_000;

export function listSkillsTool(shelf: SkillShelf): Tool {
  return defineTool({
    name: 'list_skills',
    description: 'Lists the skills there are: the name of each, what it is for, and whose it is.',
    schema: z.strictObject({}),
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => LIST_TIME_MS,
    examples: [
      { text: 'list the skills' },
      { text: 'which skills are there' },
      { text: 'what skills do you have' },
    ],
    async execute(_, { tenant, owner }) {
      const scope = { tenant, owner };
      await shelf.refresh(scope);
      const skills = shelf.list(scope);
      if (skills.length === 0) return { content: 'There are no skills yet.' };
      return {
        content: skills
          .map(({ name, description, origin, fromOutside }) => {
            const mark = fromOutside ? ', from outside' : '';
            return `- ${name}: ${description} [${origin}${mark}]`;
          })
          .join('\n'),
        fromOutside: skills.some(({ fromOutside }) => fromOutside),
      };
    },
  });
}
