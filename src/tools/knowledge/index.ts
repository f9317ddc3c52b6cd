import { z } from 'zod';
import type { Entry } from '../../core/knowledge.js';
import type { NewPassage } from '../../core/library.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { cutIntoPassages } from '../passages.js';
import { saveEntry, outsideField, type KnowledgeAccess } from '../provenance.js';

/** The family that keeps facts and learnings, each owner's own. */
export function createKnowledgeTools(options: KnowledgeOptions): readonly Tool[] {
  return [saveKnowledgeTool(options), saveLearningTool(options)];
}

export interface KnowledgeOptions extends KnowledgeAccess {
  /** Length of one entry. */
  readonly maxCharacters: number;
}

const SAVE_TIME_MS = 15_000;
const LONGEST_TAG = 64;
const MOST_TAGS = 20;
const DEFAULT_CATEGORY = 'general';
const LONGEST_NAME = 200;
const LONGEST_SOURCE = 2_000;

/** A short text on one line. */
function nameField(description: string, longest = LONGEST_NAME): z.ZodString {
  return z.string().trim().min(1).max(longest).describe(description);
}

/** The text itself. */
function contentField(description: string, longest: number): z.ZodString {
  return z.string().trim().min(1).max(longest).describe(description);
}

function tagsField() {
  return z.array(nameField('A tag', LONGEST_TAG)).max(MOST_TAGS).optional().describe('Words to find it by');
}

function sourceField() {
  return nameField('Where it comes from: an address, a file, a person', LONGEST_SOURCE).optional();
}

function saveKnowledgeTool({ maxCharacters, ...knowledge }: KnowledgeOptions): Tool {
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
      return { content: describe(await saveEntry(knowledge, entry, context)) };
    },
  });
}

function describe({ key, version }: Entry): string {
  if (version === 1) return `Saved knowledge "${key}".`;
  return `Saved knowledge "${key}" as version ${version}; the older ${version === 2 ? 'one is' : 'ones are'} kept.`;
}

const LONGEST_TRIGGER = 500;

function saveLearningTool({ maxCharacters, ...knowledge }: KnowledgeOptions): Tool {
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
    async execute({ trigger, fix, diagnosis, category, fromOutside }, context) {
      const learning = {
        ...({ kind: 'learning', key: trigger, category, content: fix, tags: [], fromOutside } as const),
        ...(diagnosis === undefined ? {} : { diagnosis }),
        passages: passagesOf(fix, diagnosis),
      };
      const { version, key } = await saveEntry(knowledge, learning, context);
      return { content: `Saved the learning "${key}"${version === 1 ? '' : ` as version ${version}`}.` };
    },
  });
}

function passagesOf(fix: string, diagnosis: string | undefined): readonly NewPassage[] {
  const text = diagnosis === undefined ? `Fix: ${fix}` : `Diagnosis: ${diagnosis}\nFix: ${fix}`;
  return cutIntoPassages(text, { syntax: 'markdown', hasLines: false });
}
