import { z } from 'zod';
import type { NewPassage } from '../../core/library.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { carriesMark, outsideField } from '../outside.js';
import { cutIntoPassages } from '../passages.js';
import { contentField, nameField, SAVE_TIME_MS, DEFAULT_CATEGORY } from './fields.js';
import type { KnowledgeOptions } from './options.js';

const LONGEST_TRIGGER = 500;

export function saveLearningTool({ store, retrieval, maxCharacters }: KnowledgeOptions): Tool {
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
      const { tenant, owner, taskId, contextId } = context;
      const { version, key } = await store.save(
        { tenant, owner },
        {
          kind: 'learning',
          key: trigger,
          category,
          content: fix,
          ...(diagnosis === undefined ? {} : { diagnosis }),
          tags: [],
          provenance: {
            fromOutside: carriesMark({ fromOutside }, context),
            taskId,
            contextId,
          },
          callKey: context.key,
          passages: passagesOf(fix, diagnosis),
        },
      );
      retrieval.catchUp({ tenant, owner });
      return { content: `Saved the learning "${key}"${version === 1 ? '' : ` as version ${version}`}.` };
    },
  });
}

function passagesOf(fix: string, diagnosis: string | undefined): readonly NewPassage[] {
  const text = diagnosis === undefined ? `Fix: ${fix}` : `Diagnosis: ${diagnosis}\nFix: ${fix}`;
  return cutIntoPassages(text, { syntax: 'markdown', hasLines: false });
}
