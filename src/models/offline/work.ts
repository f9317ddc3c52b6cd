import type { JsonObject } from '../../core/json.js';
import type { FunctionCall } from '../../core/model.js';
import { buildArguments, kindIn } from './arguments.js';
import { ASK } from './control.js';
import { offers, reportFrame, type Decision, type Desk } from './decision.js';
import { isOneWord, nameWords, parameterSchema, type Kind } from './kinds.js';
import { bodyOf, readable } from './readable.js';
import { short, withoutAdvice, writeReport, type Entry } from './report.js';
import { assignCalls } from './script.js';
import type { Step } from './step.js';
import { isWithdrawal } from './talk.js';
import { stringValues, type MadeCall, type Outcome } from './turn.js';

/** Where a step is. */
type Progress =
  | { readonly state: 'done'; readonly step: Step; readonly text: string; readonly outcome: Outcome }
  | { readonly state: 'failed'; readonly step: Step; readonly text: string }
  | { readonly state: 'ready'; readonly step: Step; readonly call: FunctionCall }
  | {
      readonly state: 'lacking';
      readonly step: Step;
      readonly question: string;
      readonly call: FunctionCall;
    };

/**
 * The next move of an agent with tools: the calls of the first round that is not done, a question for what is
 * missing, or the report. A failure ends the sequence.
 */
export function work(desk: Desk): Decision {
  const { rounds } = desk.script;
  const calls = assignCalls(rounds, desk.turn.calls);
  let earlier = desk.turn.earlier;
  const done: Entry[] = [];
  for (const [index, round] of rounds.entries()) {
    const progress = round.map((step) =>
      progressOf(step, { desk, earlier, made: calls.get(step.index) ?? [] }),
    );
    const ready = progress.flatMap((each) => (each.state === 'ready' ? [each.call] : []));
    if (ready.length > 0) return { calls: ready };
    const lacking = progress.find((each) => each.state === 'lacking');
    if (lacking && offers(desk.request, ASK)) return { calls: [lacking.call] };
    const finished = progress.filter((each) => each.state === 'done');
    done.push(...finished.map(toEntry));
    const failed = progress
      .filter((each) => each.state === 'failed' || each.state === 'lacking')
      .map(toEntry);
    if (failed.length > 0) return report(desk, { done, failed, left: rounds.slice(index + 1).flat() });
    earlier = joinOutcomes(finished.map(({ outcome }) => outcome));
  }
  return report(desk, { done, failed: [], left: [] });
}

interface Context {
  readonly desk: Desk;
  readonly earlier: Outcome | undefined;
  readonly made: readonly MadeCall[];
}

function progressOf(step: Step, context: Context): Progress {
  const { desk, earlier, made } = context;
  const call = made.findLast(({ name }) => name !== ASK);
  if (call) return settled(step, call);
  const [match] = step.matches;
  if (!match) return { state: 'failed', step, text: 'What it needs is not offered any more.' };
  const replies = made.flatMap(({ reply }) => reply ?? []);
  const build = (heard: readonly string[]) =>
    buildArguments(match, { request: step.text, earlier, replies: heard });
  const asked = build(replies.slice(0, -1)).missing[0];
  const refusal = asked && whyNoAnswer(replies.at(-1), desk, kindIn(match, asked));
  if (refusal !== undefined) return { state: 'failed', step, text: refusal };
  const built = build(replies);
  const id = desk.turn.newCallId(step.index, made.length);
  const [missing] = built.missing;
  if (missing === undefined) {
    const { name } = match.ability.spec;
    return { state: 'ready', step, call: { type: 'function-call', id, name, arguments: built.arguments } };
  }
  const question = questionFor(step.text, missing, match.ability.spec.parameters);
  if (replies.length < made.length) return { state: 'failed', step, text: `Nobody answered: ${question}` };
  const ask: FunctionCall = { type: 'function-call', id, name: ASK, arguments: { question } };
  return { state: 'lacking', step, question, call: ask };
}

/** What a person said instead of an answer. What may be any text is an answer, even if it reads like a request. */
function whyNoAnswer(reply: string | undefined, { interpreter }: Desk, kind: Kind): string | undefined {
  if (reply === undefined) return undefined;
  if (isWithdrawal(reply)) return 'You took it back.';
  if (!isOneWord(kind) || interpreter.matches(reply)[0]?.grade !== 'full') return undefined;
  return `You answered with another request. Please send it by itself: "${short(reply)}".`;
}

function settled(step: Step, { result, arguments: args }: MadeCall): Progress {
  if (!result) return { state: 'failed', step, text: 'No result came back.' };
  const text = readable(result.content);
  if (result.isError) return { state: 'failed', step, text: withoutAdvice(text) };
  return { state: 'done', step, text, outcome: { text: bodyOf(result.content), values: stringValues(args) } };
}

function questionFor(sentence: string, name: string, parameters: JsonObject): string {
  const words = nameWords(name).join(' ');
  const description = parameterSchema(parameters, name)?.description;
  const meaning = typeof description === 'string' ? ` (${short(description)})` : '';
  return `For "${short(sentence)}" I still need the ${words}${meaning}. What is it?`;
}

function joinOutcomes(outcomes: readonly Outcome[]): Outcome {
  return {
    text: outcomes.map(({ text }) => text).join('\n'),
    values: new Map(outcomes.flatMap(({ values }) => [...values])),
  };
}

function toEntry(progress: Exclude<Progress, { state: 'ready' }>): Entry {
  return {
    heading: progress.step.text,
    text: progress.state === 'lacking' ? progress.question : progress.text,
  };
}

function report(desk: Desk, result: { done: Entry[]; failed: Entry[]; left: readonly Step[] }): Decision {
  const frame = reportFrame(desk);
  const isList = result.done.length + result.failed.length > 1;
  const numbered = result.done.map((entry, index) =>
    isList ? { ...entry, heading: `${index + 1}. ${entry.heading}` } : entry,
  );
  const notDone = [...result.left.map(({ text }) => text), ...frame.notDone];
  return { text: writeReport({ ...frame, ...result, done: numbered, notDone }, desk.limitBytes) };
}
