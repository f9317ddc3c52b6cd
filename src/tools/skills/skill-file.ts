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

const FRONT = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;

/** Parses a SKILL.md. Rejects with `invalid-input` that names the mistake. */
export async function parseSkillText(text: string): Promise<SkillText> {
  const front = FRONT.exec(text);
  if (!front) throw wrong('it must begin with a block of YAML between two lines "---"');
  const { name, description, metadata } = await parseHead(front[1]!);
  const marks = metadata ?? {};
  if (!isKeys(marks)) throw wrong('metadata must be a mapping of keys to values');
  if (typeof name !== 'string' || name.length > NAME_MAX_LENGTH || !NAME_PATTERN.test(name)) {
    throw wrong(
      `name must be lower-case words of letters and digits, joined by "-", at most ${NAME_MAX_LENGTH} characters`,
    );
  }
  if (
    typeof description !== 'string' ||
    description.trim() === '' ||
    description.length > DESCRIPTION_MAX_LENGTH
  ) {
    throw wrong(`description must be a text of at most ${DESCRIPTION_MAX_LENGTH} characters`);
  }
  return {
    name,
    description: description.trim(),
    instructions: text.slice(front[0].length).trim(),
    fromOutside: String(marks[OUTSIDE_KEY]) === 'true',
  };
}

export function toSkillText({ name, description, instructions }: Omit<SkillText, 'fromOutside'>): string {
  return `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n\n${instructions.trim()}\n`;
}

/**
 * Marks the text as one from outside and leaves the rest unchanged. Rejects with `invalid-input` like `parseSkillText`.
 */
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

async function parseHead(yaml: string): Promise<Readonly<Record<string, unknown>>> {
  const { parse } = await import('yaml');
  let head: unknown;
  try {
    head = parse(yaml, { maxAliasCount: 0 });
  } catch (error) {
    throw wrong('its front matter is not valid YAML', error);
  }
  if (isKeys(head)) return head;
  throw wrong('its front matter has no keys');
}

function isKeys(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrong(what: string, cause?: unknown): LangoError {
  return new LangoError('invalid-input', `${SKILL_FILE}: ${what}.`, {
    hint: 'Begin the file with "---", "name: my-skill", "description: What it is for", "---".',
    ...(cause === undefined ? {} : { cause }),
  });
}
