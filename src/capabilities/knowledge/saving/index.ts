import { z } from 'zod';
import { textField } from '../../../core/tool-fields.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { cutIntoPassages } from '../../../parsing/passages.js';
import { saveEntry, outsideField, type KnowledgeAccess } from '../provenance.js';
import type { KnowledgeEntry } from '../stores/knowledge.js';

const TAG_MAX_LENGTH = 64;
const TAGS_MAX = 20;
const DEFAULT_CATEGORY = 'general';
const MARKDOWN = { syntax: 'markdown', hasLines: false } as const;
const NAME_MAX_LENGTH = 200;
const SOURCE_MAX_LENGTH = 2_000;
const TRIGGER_MAX_LENGTH = 500;

/** The tools that store knowledge and learnings, separately for each owner. An entry has at most `maxCharacters`. */
export function createKnowledgeTools({
  maxCharacters,
  ...knowledge
}: KnowledgeAccess & { readonly maxCharacters: number }): readonly Tool[] {
  const saveKnowledge = defineTool({
    name: 'save_knowledge',
    description:
      'Saves knowledge under a key. Saving a key again creates a new version; searches find the newest version, and older versions are kept.',
    schema: z.strictObject({
      key: textField(
        'The name by which the entry is found and replaced, such as "deploy-key"',
        NAME_MAX_LENGTH,
      ),
      category: textField('The category of the knowledge', NAME_MAX_LENGTH).default(DEFAULT_CATEGORY),
      content: textField('The knowledge, in full sentences; Markdown is allowed', maxCharacters),
      tags: z
        .array(textField('A tag', TAG_MAX_LENGTH))
        .max(TAGS_MAX)
        .optional()
        .describe('Words by which the entry can be found'),
      source: textField('The source: a URL, a file or a person', SOURCE_MAX_LENGTH).optional(),
      fromOutside: outsideField,
    }),
    effect: 'keyed',
    danger: 'moderate',
    async execute({ tags = [], ...given }, context) {
      const passages = cutIntoPassages(given.content, MARKDOWN);
      const entry = { ...given, kind: 'knowledge', tags, passages } as const;
      return { content: describe(await saveEntry(knowledge, entry, context)) };
    },
  });
  const saveLearning = defineTool({
    name: 'save_learning',
    description:
      'Saves a learning from a problem: its trigger, its cause and its solution. Saving a trigger again creates a new version.',
    schema: z.strictObject({
      trigger: textField('The problem: an error message or a situation', TRIGGER_MAX_LENGTH),
      fix: textField('What solves the problem', maxCharacters),
      diagnosis: textField('Why the problem happens', maxCharacters).optional(),
      category: textField('The category of the learning', NAME_MAX_LENGTH).default(DEFAULT_CATEGORY),
      fromOutside: outsideField,
    }),
    effect: 'keyed',
    danger: 'moderate',
    async execute({ trigger: key, fix: content, ...given }, context) {
      const diagnosis = given.diagnosis === undefined ? '' : `Diagnosis: ${given.diagnosis}\n`;
      const passages = cutIntoPassages(`${diagnosis}Fix: ${content}`, MARKDOWN);
      const learning = { ...given, kind: 'learning', key, content, tags: [], passages } as const;
      const { version, key: trigger } = await saveEntry(knowledge, learning, context);
      return { content: `Saved the learning "${trigger}"${version === 1 ? '' : ` as version ${version}`}.` };
    },
  });
  return [saveKnowledge, saveLearning];
}

function describe({ key, version }: KnowledgeEntry): string {
  if (version === 1) return `Saved knowledge "${key}".`;
  return `Saved knowledge "${key}" as version ${version}; the older ${version === 2 ? 'one is' : 'ones are'} kept.`;
}
