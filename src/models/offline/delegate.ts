import type { JsonObject } from '../../core/json.js';
import type { FunctionCall } from '../../core/model.js';
import { hasParameter } from './abilities.js';
import { fillText, textOfValue } from './arguments.js';
import { reportFrame, type Decision, type Desk } from './decision.js';
import type { Match } from './interpreter.js';
import { matchFor, type Leg, type Stage } from './legs.js';
import { quote } from './quotes.js';
import { isReference, refersToText } from './references.js';
import { short, withoutAdvice, writeReport, type Entry } from './report.js';
import { assignCalls } from './script.js';
import type { Step } from './step.js';
import type { MadeCall, Outcome } from './turn.js';

const JOINTS = { '': '', then: ' and then ', meanwhile: ' and at the same time ' } as const;

type Progress =
  | { readonly state: 'done'; readonly entry: Entry }
  | { readonly state: 'failed'; readonly entry: Entry }
  | { readonly state: 'ready'; readonly call: FunctionCall };

/**
 * The next move of an orchestrator: the delegations of the first stage that is not done, or the report. An agent that turned
 * a request down is not asked again for it: the next one whose examples fit is.
 */
export function delegate(desk: Desk, stages: readonly Stage[]): Decision {
  const tracker: Tracker = {
    desk,
    steps: new Map(desk.script.rounds.flat().map((step) => [step.index, step])),
    calls: assignCalls(desk.script.rounds, desk.turn.calls),
    isFinal: isOneAnswer(stages, desk),
  };
  let earlier = desk.turn.earlier;
  const done: Entry[] = [];
  for (const [index, stage] of stages.entries()) {
    const progress = stage.map((leg) => progressOf(leg, tracker, earlier));
    const ready = progress.flatMap((each) => (each.state === 'ready' ? [each.call] : []));
    if (ready.length > 0) return { calls: ready };
    const entries = progress.flatMap((each) => (each.state === 'done' ? [each.entry] : []));
    const failed = progress.flatMap((each) => (each.state === 'failed' ? [each.entry] : []));
    done.push(...entries);
    if (failed.length > 0) return report(tracker, { done, failed, left: stages.slice(index + 1) });
    const text = entries.map((entry) => entry.text).join('\n');
    earlier = { text, values: spokenValues(stage, tracker) };
  }
  return report(tracker, { done, failed: [], left: [] });
}

/** What all legs of a request are looked at with. */
interface Tracker {
  readonly desk: Desk;
  readonly steps: ReadonlyMap<number, Step>;
  readonly calls: ReadonlyMap<number, readonly MadeCall[]>;
  readonly isFinal: boolean;
}

/** Whether the one agent's answer is the whole answer. */
function isOneAnswer(stages: readonly Stage[], desk: Desk): boolean {
  const { unknown, blocked } = desk.script;
  const { replies } = reportFrame(desk);
  const isSingle = stages.length === 1 && stages[0]?.length === 1;
  return isSingle && [unknown, blocked, replies].every((list) => list.length === 0);
}

function progressOf(leg: Leg, tracker: Tracker, earlier: Outcome | undefined): Progress {
  const first = leg.parts[0]?.step ?? -1;
  const made = tracker.calls.get(first) ?? [];
  const last = made.at(-1);
  const agentOf = (call: MadeCall) => textOfValue(call.arguments.agent_name);
  if (last?.result && !last.result.isError) {
    const heading = `${agentOf(last)} on "${short(legText(leg, tracker))}"`;
    return { state: 'done', entry: { heading, text: last.result.content } };
  }
  const asked = made.map(agentOf);
  const steps = stepsOf(leg, tracker);
  const agent = leg.agents.find(
    (name) => !asked.includes(name) && steps.every((step) => matchFor(step, name)),
  );
  if (agent === undefined) {
    return { state: 'failed', entry: { heading: legText(leg, tracker), text: reasonsOf(made) } };
  }
  const id = tracker.desk.turn.newCallId(first, made.length);
  return { state: 'ready', call: { type: 'function-call', id, ...toCall(leg, tracker, { agent, earlier }) } };
}

/** Why nobody did it, in the words of those who were asked. */
function reasonsOf(made: readonly MadeCall[]): string {
  const reasons = made.map(({ arguments: args, result }) => {
    const agent = textOfValue(args.agent_name);
    const reason = withoutAdvice(result?.content ?? 'no result came back');
    return reason.startsWith(agent) ? reason : `${agent}: ${reason}`;
  });
  return reasons.length === 0 ? 'No agent that could do it can be asked any more.' : reasons.join('\n');
}

interface Assignment {
  readonly agent: string;
  readonly earlier: Outcome | undefined;
}

function toCall(
  leg: Leg,
  tracker: Tracker,
  { agent, earlier }: Assignment,
): Pick<FunctionCall, 'name' | 'arguments'> {
  const request = leg.parts
    .map(({ step, joint, isFirst }) => {
      const context: Assignment = { agent, earlier: isFirst ? earlier : undefined };
      return JOINTS[joint] + requestText(tracker.steps.get(step)!, tracker, context);
    })
    .join('');
  const { spec, example } = matchFor(tracker.steps.get(leg.parts[0]!.step)!, agent)!.ability;
  const final: JsonObject = hasParameter(spec.parameters, 'final') ? { final: tracker.isFinal } : {};
  return { name: spec.name, arguments: { ...example.arguments, agent_name: agent, request, ...final } };
}

/** A step in the words for its agent, who was not there when "it" came out: that stands in the request itself. */
function requestText(step: Step, { desk }: Tracker, { agent, earlier }: Assignment): string {
  const match = matchFor(step, agent)!;
  const { isPublished, example } = match.ability;
  const sentence = isPublished ? step.text : (match.values.get('task')?.text ?? step.text);
  const inner = isPublished
    ? match
    : desk.interpreter.matches(sentence).find(({ ability }) => ability.agent === agent);
  const resolved = inner && earlier ? resolveReferences(sentence, inner, earlier) : sentence;
  const wording = isPublished ? example.arguments?.request : undefined;
  if (typeof wording !== 'string') return resolved;
  const values = [...match.values].map(([name, { text }]): [string, string] => [name, text]);
  return fillText(wording, new Map([...values, ['request', resolved]]));
}

function resolveReferences(sentence: string, { ability, values }: Match, earlier: Outcome): string {
  let resolved = sentence;
  for (const [name, value] of [...values].sort(([, a], [, b]) => b.start - a.start)) {
    const element = ability.template.find((each) => each.type === 'placeholder' && each.name === name);
    if (element?.type !== 'placeholder' || !isReference(value)) continue;
    const text = refersToText(element.kind) ? earlier.text : earlier.values.get(name);
    if (text === undefined) continue;
    resolved = `${resolved.slice(0, value.start)}${quote(text)}${resolved.slice(value.end)}`;
  }
  return resolved;
}

function spokenValues(stage: Stage, tracker: Tracker): ReadonlyMap<string, string> {
  const steps = stage.flatMap((leg) => stepsOf(leg, tracker));
  const values = steps.flatMap(({ matches: [best] }) => [...(best?.values ?? [])]);
  return new Map(values.map(([name, { text }]) => [name, text]));
}

function stepsOf(leg: Leg, { steps }: Tracker): readonly Step[] {
  return leg.parts.flatMap(({ step }) => steps.get(step) ?? []);
}

function legText(leg: Leg, { steps }: Tracker): string {
  return leg.parts.map(({ step, joint }) => JOINTS[joint] + short(steps.get(step)?.text ?? '')).join('');
}

function report(
  tracker: Tracker,
  result: { done: Entry[]; failed: Entry[]; left: readonly Stage[] },
): Decision {
  const frame = reportFrame(tracker.desk);
  const left = result.left.flat().flatMap((leg) => stepsOf(leg, tracker).map(({ text }) => text));
  const notDone = [...left, ...frame.notDone];
  return { text: writeReport({ ...frame, ...result, notDone }, tracker.desk.limitBytes) };
}
