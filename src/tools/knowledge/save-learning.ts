import { z } from 'zod';
import type { NewPassage } from '../../core/library.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { keepEntry } from '../keeping.js';
import { outsideField } from '../outside.js';
import { cutIntoPassages } from '../passages.js';
import { contentField, nameField, SAVE_TIME_MS, DEFAULT_CATEGORY } from './fields.js';
import type { KnowledgeOptions } from './options.js';

const LONGEST_TRIGGER = 500;

export function saveLearningTool({ maxCharacters, ...keeping }: KnowledgeOptions): Tool {
  const schema = z.strictObject({
    trigger: nameField('What went wrong, or what one meets: an error message, a situation', LONGEST_TRIGGER),
    fix: contentField('What helps', maxCharacters),
    diagnosis: contentField('Why it happens', maxCharacters).optional(),
    category: nameField('What kind of learning it is').default(DEFAULT_CATEGORY),
    fromOutside: outsideField(),
  });
  return defineTool({
    name: 'save_learning',
    description:
      'Keeps what was learned from something that went wrong: the trigger, why it happens and what helps. The same trigger again makes a new version.',
    schema,
    effect: 'keyed',
    danger: () => 'moderate',
    timeoutMs: () => SAVE_TIME_MS,
    examples: [
      { text: 'save learning {trigger}: {fix}' },
      { text: 'save the learning {trigger}: {fix}' },
      { text: 'learn that {trigger} is fixed by {fix}' },
      { text: 'learn that {trigger} because {diagnosis} is fixed by {fix}' },
    ],
    async execute({ trigger, fix, diagnosis, category, fromOutside }, context) {
      const learning = {
        ...({ kind: 'learning', key: trigger, category, content: fix, tags: [], fromOutside } as const),
        ...(diagnosis === undefined ? {} : { diagnosis }),
        passages: passagesOf(fix, diagnosis),
      };
      const { version, key } = await keepEntry(keeping, learning, context);
      return { content: `Saved the learning "${key}"${version === 1 ? '' : ` as version ${version}`}.` };
    },
  });
}

function passagesOf(fix: string, diagnosis: string | undefined): readonly NewPassage[] {
  const text = diagnosis === undefined ? `Fix: ${fix}` : `Diagnosis: ${diagnosis}\nFix: ${fix}`;
  return cutIntoPassages(text, { syntax: 'markdown', hasLines: false });
}
