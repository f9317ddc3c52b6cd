import { z } from 'zod';
import { keyOf, type AgentFunction, type Call, type CallOutcome } from '../agents/agent-function.js';
import { CONTROL_NAMES } from '../agents/control-functions.js';
import { toolFunction } from '../agents/tool-function.js';
import { TRANSFER_NAME } from '../agents/transfer.js';
import type { BodyOf, EventBody, Question, TaskEvent } from '../core/task.js';
import { defineTool, type ToolOutput } from '../core/tool.js';
import { rootOf, type Pass, type Recording } from './passes.js';

/** Results were cut to their limit when they were recorded. */
const NO_LIMIT = 2 ** 31 - 1;
const ANY_ARGUMENTS = { type: 'object', properties: {}, additionalProperties: true } as const;
/** The number of answers in a row with refused calls only that end a run. */
const REFUSED_TURNS = 4;

/**
 * Returns a function that puts the functions of a recorded task in place of those of an agent: each call gets the recorded
 * result, and each further name that was called is a function too. Arguments, danger and effect class of a call are as they
 * were recorded; asking a person, keys, repeats and limits are the work of the loop as usual. Control functions work as
 * usual. So does a delegation, unless it was refused because of agents or rules of that time: it is refused again.
 */
export function recordedFunctions(recording: Recording) {
  const bodies = recording.events.map(({ body }) => body);
  const steps = Map.groupBy(bodies, (body) => ('step' in body ? rootOf(body.step) : ''));
  const tools = bodies.flatMap((body) => {
    if (body.type === 'tool-call') return [body.tool];
    return body.type === 'question' ? (body.question.tool ?? []) : [];
  });
  const call = (given: Call) => callRecorded(given, steps.get(given.step) ?? [], recording);
  return (own: readonly AgentFunction[]): readonly AgentFunction[] => {
    const further = new Set(tools);
    for (const { name } of own) further.delete(name);
    const replaced = own.map((one): AgentFunction => {
      if (CONTROL_NAMES.includes(one.name)) return one;
      const isRefused = ({ step }: Call) => steps.get(step)?.some(({ type }) => type === 'tool-call');
      const isMade = (given: Call) => one.name === TRANSFER_NAME && !isRefused(given);
      return { ...one, call: (given) => (isMade(given) ? one.call(given) : call(given)) };
    });
    return [...replaced, ...[...further].map((name) => ({ name, spec: undefined, first: false, call }))];
  };
}

/** Calls a tool that gives what is recorded. `bodies`: the entries of the call. */
async function callRecorded(
  call: Call,
  bodies: readonly EventBody[],
  recording: Recording,
): Promise<CallOutcome> {
  const intent = bodies.find((body) => body.type === 'tool-call');
  const questions = bodies.flatMap((body) => (body.type === 'question' ? [body.question] : []));
  const asked = questions.find(({ tool }) => tool === call.name);
  const made = { ...call, arguments: intent?.arguments ?? asked?.arguments ?? call.arguments };
  const keyed = { ...made, key: keyOf(made) };
  const approval = questions.find(({ kind }) => kind === 'approval');
  const isUnsafe = questions.some(({ kind }) => kind === 'outcome-unknown');
  // More than one in this run if the call asked a person, or was repeated.
  const { events } = recording.pass;
  const outputs = events.flatMap(({ body }) =>
    body.type === 'tool-result' && rootOf(body.step) === call.step ? [outputOf(body, events)] : [],
  );
  const tool = defineTool({
    ...{ name: call.name, description: '', schema: z.object({}), parameters: ANY_ARGUMENTS },
    ...{ effect: isUnsafe ? 'unsafe' : (intent?.effect ?? 'pure'), timeoutMs: NO_LIMIT },
    danger: approval ? 'dangerous' : 'safe',
    ...(approval && approval.hash !== keyed.key && { describe: () => describedIn(approval) }),
    execute: async () => outputs.shift() ?? recording.blocked(),
  });
  const limits = { ...recording.limits, toolOutputBytes: NO_LIMIT };
  const outcome = await toolFunction(tool, { approval: 'dangerous', limits }).call(keyed);
  const isError = outcome.type === 'result' && outcome.result.isError;
  return isError && isOfRefusals(call.step, recording.pass) ? { ...outcome, refused: true } : outcome;
}

/** Whether the call may be one of those that were refused until the run ended. The record does not say which were. */
function isOfRefusals(step: string, { end, events }: Pass): boolean {
  const turns = events.flatMap(({ body }) => (body.type === 'turn-end' ? [`${body.step}.`] : []));
  const isLast = turns.slice(-REFUSED_TURNS).some((turn) => step.startsWith(turn));
  return end?.reason === 'limit-refusals' && isLast;
}

function outputOf(
  { step, result, fromOutside, asks }: BodyOf<'tool-result'>,
  events: readonly TaskEvent[],
): ToolOutput {
  const files = events.flatMap(({ body }) => {
    if (body.type !== 'artifact' || !body.artifact.id.startsWith(`${step}.f`)) return [];
    return body.artifact.parts.slice(0, 1);
  });
  return {
    ...{ content: result.content, isError: result.isError, files },
    ...(fromOutside && { fromOutside }),
    ...(asks && { asks }),
  };
}

/** The words of a tool about its call: "May operator DO THIS?" */
function describedIn({ author, text }: Question): string {
  return text.slice(`May ${author} `.length, -1);
}
