import type { SentenceRow } from '../../core/capability.js';
import type { JsonObject } from '../../core/json.js';
import { keepableObject } from '../conversation.js';
import { matchSentence, parseSentence, toTokens, type Sentence, type Token } from './sentence.js';

/** The delegation function of the agent loop. */
export const TRANSFER = 'transfer_to_agent';
/** Stands for no tool: the planner writes an outline itself. */
export const PLAN = 'plan';

/**
 * The sentences of every server. `{name}` stands for one word or one quotation, `{name...}` for any number of words; a
 * sentence holds one of the latter at most. A `?` at the end may be left out. A placeholder is the argument of its name,
 * unless the tool or the other arguments use it.
 */
const OWN: readonly SentenceRow[] = [
  ['make a plan for {goal...}', PLAN],
  ['ask {agent_name} to {request...}', TRANSFER],
  ['call {tool} with {arguments...}', '{tool}'],
  ['call {tool}', '{tool}'],
];

/** The sentences that the offline model understands. */
export interface SentenceTable {
  readonly rows: readonly SentenceRow[];
  /** The sentence with the most fixed words first: of several that fit, the first counts. */
  readonly ranked: readonly { readonly row: SentenceRow; readonly sentence: Sentence }[];
}

/** Makes the table of the sentences of capabilities, and those of every server. */
export function createTable(ofCapabilities: readonly SentenceRow[]): SentenceTable {
  const rows = [...ofCapabilities, ...OWN];
  const parsed = rows.map((row) => ({ row, sentence: parseSentence(row[0]) }));
  return { rows, ranked: parsed.sort((a, b) => b.sentence.weight - a.sentence.weight) };
}

/** One action that a request asks for. */
export interface Step {
  readonly text: string; // The exact text of this step in the request.
  readonly isParallel: boolean; // Whether the step runs together with the one before it.
  readonly call: ToolCall | undefined; // Undefined when the sentence is not in the table.
}

type ToolCall = Readonly<{ name: string; arguments: JsonObject }>;

type Values = ReadonlyMap<string, string>;

/** More steps than a person writes in one message. */
export const MAX_STEPS = 30;

/** Longer texts, in characters, are not understood: reading them would block the event loop. */
const MAX_REQUEST_LENGTH = 400_000;

/** The words between two steps. A joint without "and" counts only after a comma or semicolon. */
const JOINTS = [
  { words: ['and', 'then'], isParallel: false },
  { words: ['then'], isParallel: false },
  { words: ['and', 'at', 'the', 'same', 'time'], isParallel: true },
];

/**
 * Returns the steps of a request in order: at most `MAX_STEPS`, and one more that holds the rest. Splits between words, never
 * inside a quotation. Takes time in proportion to the length of the text.
 */
export function readRequest(text: string, table: SentenceTable): readonly Step[] {
  if (text.length > MAX_REQUEST_LENGTH) return [{ text, isParallel: false, call: undefined }];
  const tokens = toTokens(text);
  const steps: Step[] = [];
  let start = tokens[0]?.word === 'please' ? 1 : 0;
  let isParallel = false;
  const close = (end: number): void => {
    const own = withoutComma(text, tokens.slice(start, end), end === tokens.length);
    if (own.length > 0) steps.push({ ...toStep(text, own, table), isParallel });
  };
  for (let index = start + 1; index < tokens.length && steps.length < MAX_STEPS; index += 1) {
    const joint = jointAt(text, tokens, index);
    if (!joint) continue;
    close(index);
    start = index + joint.words.length;
    isParallel = joint.isParallel;
    index = start;
  }
  close(tokens.length);
  return steps;
}

function jointAt(text: string, tokens: readonly Token[], index: number) {
  const isAfterComma = /[,;]/.test(text.charAt(tokens[index - 1]!.end - 1));
  return JOINTS.find(
    ({ words }) =>
      (words[0] === 'and' || isAfterComma) &&
      words.every((word, offset) => tokens[index + offset]?.word === word),
  );
}

/** The comma before "then" belongs to neither step. */
function withoutComma(text: string, tokens: readonly Token[], isEnd: boolean): readonly Token[] {
  const last = tokens.at(-1);
  if (!last || isEnd || !/[,;]/.test(text.charAt(last.end - 1))) return tokens;
  return tokens.with(-1, { ...last, end: last.end - 1 });
}

function toStep(text: string, tokens: readonly Token[], { ranked }: SentenceTable): Omit<Step, 'isParallel'> {
  const own = text.slice(tokens[0]!.start, tokens.at(-1)!.end);
  for (const { row, sentence } of ranked) {
    const values = matchSentence(sentence, text, tokens);
    const call = values && toCall(row, values);
    if (call) return { text: own, call };
  }
  return { text: own, call: undefined };
}

/** Makes the call of a row. Returns undefined for "call TOOL with JSON" when the text after it is not a JSON object. */
function toCall([, tool, others = {}]: SentenceRow, values: Values): ToolCall | undefined {
  const used = JSON.stringify([tool, others]);
  const { arguments: json, ...own } = Object.fromEntries(
    [...values].filter(([name]) => !used.includes(`{${name}}`)),
  );
  const given = json === undefined ? own : keepableObject(json);
  if (!given) return undefined;
  const name = tool === '{tool}' ? fill(tool, values) : fill(tool, values).replaceAll('-', '_');
  return { name, arguments: { ...given, ...fillAll(others, values) } };
}

/** Replaces the placeholders in a template by values. The values are escaped, so they stay texts. */
function fillAll(template: NonNullable<SentenceRow[2]>, values: Values): JsonObject {
  const inJson = new Map([...values].map(([name, value]) => [name, JSON.stringify(value).slice(1, -1)]));
  return JSON.parse(fill(JSON.stringify(template), inJson)) as JsonObject;
}

function fill(template: string, values: Values): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => values.get(name) ?? whole);
}
