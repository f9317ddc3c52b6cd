import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { canonicalJson } from '../core/canonical-json.js';
import { errorText } from '../core/errors.js';
import { isJsonObject, parseSafeJson, type Json, type JsonObject } from '../core/json.js';
import { shorten } from '../core/text.js';
import type { Expectation } from './case-file.js';
import type { Deed, Outcome } from './deeds.js';

export interface Verdict {
  readonly holds: boolean;
  /** The finding, as part of a sentence. */
  readonly found: string;
}

/** The needs of a check besides the outcome. */
interface CheckContext {
  /** The absolute path of a file that the case names. */
  readonly pathOf: (name: string) => string;
  /** Rejects when no judge has answered. */
  readonly judge: (rubric: string) => Promise<Verdict>;
}

/** Checks one expectation. Returns what is wrong, as a sentence; undefined when the expectation holds. */
export async function failureOf(
  expected: Expectation,
  outcome: Outcome,
  context: CheckContext,
): Promise<string | undefined> {
  const { not, ...wanted } = expected;
  const what = Object.entries(wanted).map(([key, value]) => `${key} ${shown(value)}`);
  const sentence = `expected ${not ? 'not ' : ''}${what.join(', ')}, but`;
  try {
    const { holds, found } = await verdictOn(expected, outcome, context);
    return holds === (not ?? false) ? `${sentence} ${found}` : undefined;
  } catch (error) {
    return `${sentence} it could not be checked: ${errorText(error)}`;
  }
}

const SHOWN_CHARACTERS = 200;

function shown(value: Json): string {
  return shorten(typeof value === 'string' ? JSON.stringify(value) : canonicalJson(value), SHOWN_CHARACTERS);
}

async function verdictOn(
  expected: Expectation,
  outcome: Outcome,
  { pathOf, judge }: CheckContext,
): Promise<Verdict> {
  const { text, deeds } = outcome;
  const answer = (holds: boolean): Verdict => ({ holds, found: `the answer is ${shown(text)}` });
  if (expected.state !== undefined) return sameState(expected.state, outcome);
  if (expected.contains !== undefined) return answer(text.includes(expected.contains));
  if (expected.equals !== undefined) return answer(text.trim() === expected.equals.trim());
  if (expected.matches !== undefined) return answer(new RegExp(expected.matches, 'u').test(text));
  if (expected.schema !== undefined) return fitsSchema(expected.schema, outcome);
  if (expected.rule !== undefined) return ruleSays(pathOf(expected.rule), outcome);
  if (expected.judge !== undefined) return judge(expected.judge);
  if (expected.order !== undefined) return inOrder(expected.order, deeds);
  if (expected.tool !== undefined || expected.asked !== undefined) return called(expected, deeds);
  return within(expected, outcome.use);
}

function sameState(state: string, { tasks: [root] }: Outcome): Verdict {
  const end = root!.events.findLast(({ body }) => body.type === 'run-end')?.body;
  const reason = end?.type === 'run-end' && end.reason !== undefined ? ` (${end.reason})` : '';
  return { holds: root!.state === state, found: `it is ${root!.state}${reason}` };
}

function fitsSchema(schema: JsonObject, { text, data = parseSafeJson(text) }: Outcome): Verdict {
  if (data === undefined) return { holds: false, found: 'the answer is no JSON' };
  const [issue] = z.fromJSONSchema(schema).safeParse(data).error?.issues ?? [];
  if (!issue) return { holds: true, found: 'it fits' };
  return { holds: false, found: `${issue.path.join('.') || 'the answer'}: ${issue.message}` };
}

/** Runs the rule of a case, which is code of the person who wrote the case. */
async function ruleSays(file: string, { text, data, tasks }: Outcome): Promise<Verdict> {
  const { rule } = (await import(pathToFileURL(file).href)) as { rule?: (given: object) => unknown };
  if (!rule) throw new Error(`${file} exports no function "rule".`);
  const says = await rule({ answer: data ?? text, events: tasks[0]!.events, tasks });
  const found = typeof says === 'string' ? says : `the rule returned ${String(says)}`;
  return { holds: says === true, found };
}

function inOrder(order: readonly string[], deeds: readonly Deed[]): Verdict {
  const names = deeds.map(({ name }) => name);
  let at = -1;
  const missing = order.find((name) => (at = names.indexOf(name, at + 1)) < 0);
  const found = `there were ${names.join(', ') || 'no calls'}`;
  if (missing === undefined) return { holds: true, found };
  return { holds: false, found: `${missing} is not there; ${found}` };
}

function called(expected: Expectation, deeds: readonly Deed[]): Verdict {
  const { tool, asked, arguments: given = {}, times, most } = expected;
  const kind = tool === undefined ? 'agent' : 'tool';
  const ofName = deeds.filter((deed) => deed.kind === kind && deed.name === (tool ?? asked));
  const { length } = ofName.filter((deed) => holdsAll(deed.arguments, given as JsonObject));
  const [other] = ofName;
  const instead = length === 0 && other ? `; a call had ${shown(other.arguments)}` : '';
  const isEnough = times === undefined ? most !== undefined || length > 0 : length === times;
  const found = `there ${length === 1 ? 'was 1 call' : `were ${length} calls`}${instead}`;
  return { holds: isEnough && length <= (most ?? Infinity), found };
}

/** Whether the value has all that is wanted: objects may have more members. */
export function holdsAll(value: Json | undefined, wanted: Json): boolean {
  if (!isJsonObject(wanted)) return value !== undefined && canonicalJson(value) === canonicalJson(wanted);
  return (
    isJsonObject(value) &&
    Object.entries(wanted).every(([name, member]) => holdsAll(value[name], member as Json))
  );
}

/** An expectation that has no other subject is an upper limit. */
function within(expected: Expectation, use: Outcome['use']): Verdict {
  const limit = (['cost', 'tokens', 'turns', 'seconds'] as const).find((key) => key in expected)!;
  const used = use[limit];
  if (used === undefined) return { holds: false, found: 'a model has no price (prices)' };
  return { holds: used <= expected[limit]!, found: `it was ${used}` };
}
