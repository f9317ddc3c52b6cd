import { z } from 'zod';
import type { Entry } from '../../core/knowledge.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { keepEntry } from '../keeping.js';
import { outsideField } from '../outside.js';
import { cutIntoPassages } from '../passages.js';
import { contentField, nameField, SAVE_TIME_MS, sourceField, tagsField, DEFAULT_CATEGORY } from './fields.js';
import type { KnowledgeOptions } from './options.js';

export function saveKnowledgeTool({ maxCharacters, ...keeping }: KnowledgeOptions): Tool {
  const schema = z.strictObject({
    key: nameField('Its name, to find and to replace it by, such as "deploy-key"'),
    category: nameField('What kind of knowledge it is').default(DEFAULT_CATEGORY),
    content: contentField('What is to be known, in full sentences; Markdown is fine', maxCharacters),
    tags: tagsField(),
    source: sourceField(),
    fromOutside: outsideField(),
  });
  return defineTool({
    name: 'save_knowledge',
    description:
      'Keeps a fact under a key. Saving a key again makes a new version; searches find the newest, and older ones are kept.',
    schema,
    effect: 'keyed',
    danger: () => 'moderate',
    timeoutMs: () => SAVE_TIME_MS,
    examples: [
      { text: 'save knowledge {key}: {content}' },
      { text: 'save the knowledge {key}: {content}' },
      { text: 'save knowledge about {key}: {content}' },
      { text: 'keep as knowledge {key}: {content}' },
      { text: 'note under {key} that {content}' },
    ],
    async execute({ key, category, content, tags = [], source, fromOutside }, context) {
      const passages = cutIntoPassages(content, { syntax: 'markdown', hasLines: false });
      const entry = {
        kind: 'knowledge',
        key,
        category,
        content,
        tags,
        passages,
        source,
        fromOutside,
      } as const;
      return { content: describe(await keepEntry(keeping, entry, context)) };
    },
  });
}

function describe({ key, version }: Entry): string {
  if (version === 1) return `Saved knowledge "${key}".`;
  return `Saved knowledge "${key}" as version ${version}; the older ${version === 2 ? 'one is' : 'ones are'} kept.`;
}
