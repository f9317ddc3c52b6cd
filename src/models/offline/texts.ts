import { isJsonObject, type Json } from '../../core/json.js';
import { shorten } from '../../core/text.js';
import type { SentenceTable } from './request.js';

const MORE = 'Ask "what can you do" for all that I understand.';
const ADVICE = 'For a real model set ANTHROPIC_API_KEY, OPENAI_API_KEY or model.provider.';
const IDENTITY = `I am Lango's offline model: I compare requests with a table of sentences and know nothing else. ${ADVICE}`;

const GREETINGS = ['hello', 'hi', 'hey', 'hello there', 'hi there', 'good morning'];
const MAX_TALK_LENGTH = 40;
const MAX_QUOTE_LENGTH = 100;
const MAX_EXAMPLES = 5;

/** The sentences, and whether a tool can be called, or delegated to the agent that owns it. */
export type Offers = Readonly<{ table: SentenceTable; has: (tool: string) => boolean }>;

/** Returns the output to small talk; undefined for any other text. */
export function smallTalk(text: string, offers: Offers): string | undefined {
  if (text.length > MAX_TALK_LENGTH) return undefined;
  const plain = text.toLowerCase().replace(/[\s.,!?]+$/, '');
  if (GREETINGS.includes(plain)) return 'Hello! Ask "what can you do" to see what I understand.';
  if (plain === 'thanks' || plain === 'thank you') return 'You are welcome.';
  if (plain === 'who are you') return IDENTITY;
  if (plain !== 'what can you do' && plain !== 'help') return undefined;
  const sentences = sentencesFor(offers).join('\n');
  return `${IDENTITY}\n\nI understand, also joined by "and then" or "and at the same time":\n${sentences}`;
}

/** Returns the refusal of a request: the reason, and examples of requests that work. */
export function refusal(reason: string, offers: Offers): string {
  const examples = sentencesFor(offers).slice(0, MAX_EXAMPLES).join('\n');
  return `${reason} Nothing was done.\n\nI understand, for example:\n${examples}\n${MORE} ${ADVICE}`;
}

/** Returns the first sentence of the table for each offered tool, as items of a list. */
function sentencesFor({ table: { rows }, has }: Offers): readonly string[] {
  const shown = rows.filter(([, tool], index) => has(tool) && rows[index - 1]?.[1] !== tool);
  return shown.map(([sentence]) => `- ${sentence.replace(/\{(\w+)(\.\.\.)?\}/g, '[$1]')}`);
}

/** Puts a sentence in quotes, shortened and on one line. */
export function quoted(sentence: string): string {
  return `"${shorten(sentence.slice(0, 2 * MAX_QUOTE_LENGTH).replace(/\s+/g, ' '), MAX_QUOTE_LENGTH)}"`;
}

/** Returns the same outline for every goal, because the offline model cannot plan. */
export function outline(goal: string): string {
  return `Plan: ${shorten(goal, 2 * MAX_QUOTE_LENGTH)}

1. Say what the result is and how to tell that it is reached.
2. Gather what is needed: what exists, what is missing, who has to agree.
3. Do it in small parts; the part that the others depend on comes first.
4. Check the result against step 1 and correct it.

This is an outline by rule, because Lango's offline model does not reason. Please review it before anything is done.`;
}

/** Formats a result for a person: text stays as it is, JSON becomes lines of names and values. */
export function readable(content: string): string {
  try {
    return /^[{[]/.test(content) ? described(JSON.parse(content) as Json) : content.trimEnd();
  } catch {
    return content;
  }
}

function described(value: Json | undefined): string {
  if (typeof value === 'string') return value.trimEnd();
  if (Array.isArray(value)) return value.map((item: Json) => `- ${described(item)}`).join('\n');
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== '');
  return members.map(([name, member]) => labeled(name, described(member))).join('\n');
}

/** Puts a label before a text; a text of several lines starts on a new line. */
export const labeled = (label: string, text: string) => `${label}:${text.includes('\n') ? '\n' : ' '}${text}`;
