import { z } from 'zod';
import { LangoError } from '../../core/errors.js';

/** The front matter of a SKILL.md and its instructions. The format: agentskills.io/specification. */
export interface SkillText {
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  /** Whether the skill may stem from text from outside. */
  readonly fromOutside: boolean;
}

export const SKILL_FILE = 'SKILL.md';
export const NAME_MAX_LENGTH = 58;
export const DESCRIPTION_MAX_LENGTH = 1_024;
/** Lower-case words joined by single dashes. */
export const NAME_PATTERN = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** A key of `metadata` in the front matter, which the format leaves to the author. */
const OUTSIDE_KEY = 'from-outside';

const WRONG_NAME = `name must be lower-case words of letters and digits, joined by "-", at most ${NAME_MAX_LENGTH} characters`;
const WRONG_DESCRIPTION = `description must be a text of at most ${DESCRIPTION_MAX_LENGTH} characters`;

/** Any YAML of this size is parsed in less than 100 ms; the time grows faster than the size. */
const FRONT_MAX_LENGTH = 8_192;
const FRONT = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;

const frontMatter = z.object(
  {
    name: z.string(WRONG_NAME).max(NAME_MAX_LENGTH, WRONG_NAME).regex(NAME_PATTERN, WRONG_NAME),
    description: z
      .string(WRONG_DESCRIPTION)
      .max(DESCRIPTION_MAX_LENGTH, WRONG_DESCRIPTION)
      .trim()
      .min(1, WRONG_DESCRIPTION),
    metadata: z.looseObject({}, 'metadata must be a mapping of keys to values').nullish(),
  },
  'its front matter has no keys',
);

/** Parses a SKILL.md. Rejects with `invalid-input` that names the mistake. */
export async function parseSkillText(text: string): Promise<SkillText> {
  const front = FRONT.exec(text);
  if (!front) throw wrong('it must begin with a block of YAML between two lines "---"');
  if (front[1]!.length > FRONT_MAX_LENGTH) {
    throw wrong(`its front matter has more than ${FRONT_MAX_LENGTH} characters`);
  }
  const { data, error } = frontMatter.safeParse(await parseYaml(front[1]!));
  if (error) throw wrong(error.issues[0]!.message);
  return {
    name: data.name,
    description: data.description,
    instructions: text.slice(front[0].length).trim(),
    fromOutside: String(data.metadata?.[OUTSIDE_KEY]) === 'true',
  };
}

export function toSkillText({ name, description, instructions }: Omit<SkillText, 'fromOutside'>): string {
  return `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n\n${instructions.trim()}\n`;
}

/** Marks the text as one from outside and leaves the rest unchanged. Rejects with `invalid-input` like `parseSkillText`. */
export async function markFromOutside(text: string): Promise<string> {
  const { fromOutside } = await parseSkillText(text);
  if (fromOutside) return text;
  const { parseDocument } = await import('yaml');
  const front = FRONT.exec(text)!;
  const head = parseDocument(front[1]!);
  if (head.get('metadata') === undefined) head.delete('metadata');
  head.setIn(['metadata', OUTSIDE_KEY], 'true');
  return `---\n${head.toString({ lineWidth: 0 })}---\n${text.slice(front[0].length)}`;
}

async function parseYaml(yaml: string): Promise<unknown> {
  const { parse } = await import('yaml');
  try {
    return parse(yaml, { maxAliasCount: 0 });
  } catch (error) {
    throw wrong('its front matter is not valid YAML', error);
  }
}

function wrong(what: string, cause?: unknown): LangoError {
  return new LangoError('invalid-input', `${SKILL_FILE}: ${what}.`, {
    hint: 'Begin the file with "---", "name: my-skill", "description: What it is for", "---".',
    cause,
  });
}
