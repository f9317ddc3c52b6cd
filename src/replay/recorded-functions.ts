import { z } from 'zod';
import { keyOf, type AgentFunction, type Call, type CallOutcome } from '../agents/agent-function.js';
import { CONTROL_NAMES } from '../agents/control-functions.js';
import { toolFunction } from '../agents/tool-function.js';
import { TRANSFER_NAME } from '../agents/transfer.js';
import type { EventBody, Question, TaskEvent } from '../core/task.js';
import { defineTool, type Tool, type ToolOutput } from '../core/tool.js';
import { rootOf, type Recording } from './passes.js';

type ToolCall = Extract<EventBody, { type: 'tool-call' }>;
type ToolResult = Extract<EventBody, { type: 'tool-result' }>;

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
  const asked = bodies.filter((body) => body.type === 'question');
  const record: Calls = {
    ...recording,
    calls: Map.groupBy(
      bodies.filter((body) => body.type === 'tool-call'),
      ({ step }) => rootOf(step),
    ),
    questionsAt: (step) =>
      asked.flatMap(({ step: own, question }) => (rootOf(own) === step ? [question] : [])),
  };
  const call: AgentFunction['call'] = (given) => callRecorded(given, record);
  return (own: readonly AgentFunction[]): readonly AgentFunction[] => {
    const calls = [...record.calls.values()].flat();
    const tools = [...calls, ...asked.map(({ question }) => question)].flatMap(({ tool }) => tool ?? []);
    const names = new Set(tools);
    for (const { name } of own) names.delete(name);
    const replaced = own.map((one): AgentFunction => {
      if (CONTROL_NAMES.includes(one.name)) return one;
      const isMade = ({ step }: Call) => one.name === TRANSFER_NAME && !record.calls.has(step);
      return { ...one, call: (given) => (isMade(given) ? one.call(given) : call(given)) };
    });
    return [...replaced, ...[...names].map((name) => ({ name, spec: undefined, first: false, call }))];
  };
}

/** A recording with its calls and questions by the steps of the calls. */
interface Calls extends Recording {
  readonly calls: ReadonlyMap<string, readonly ToolCall[]>;
  readonly questionsAt: (step: string) => readonly Question[];
}

async function callRecorded(call: Call, record: Calls): Promise<CallOutcome> {
  const [intent] = record.calls.get(call.step) ?? [];
  const question = record.questionsAt(call.step).find(({ tool }) => tool === call.name);
  const made = { ...call, arguments: intent?.arguments ?? question?.arguments ?? call.arguments };
  const keyed = { ...made, key: keyOf(made) };
  const limits = { ...record.limits, toolOutputBytes: NO_LIMIT };
  const outcome = await toolFunction(toolFor(keyed, record), { approval: 'dangerous', limits }).call(keyed);
  return outcome.type === 'result' && isRefusal(call.step, outcome, record)
    ? { ...outcome, refused: true }
    : outcome;
}

function toolFor({ step, name, key }: Call, record: Calls): Tool {
  const questions = record.questionsAt(step);
  const approval = questions.find(({ kind }) => kind === 'approval');
  const isUnsafe = questions.some(({ kind }) => kind === 'outcome-unknown');
  const effect = isUnsafe ? 'unsafe' : (record.calls.get(step)?.[0]?.effect ?? 'pure');
  const description = approval && approval.hash !== key ? describedIn(approval) : undefined;
  // More than one in this run if the call asked a person, or was repeated.
  const { events } = record.pass;
  const outputs = events.flatMap(({ body }) =>
    body.type === 'tool-result' && rootOf(body.step) === step ? [outputOf(body, events)] : [],
  );
  return defineTool({
    ...{ name, description: '', schema: z.object({}), parameters: ANY_ARGUMENTS, effect },
    danger: approval ? 'dangerous' : 'safe',
    timeoutMs: NO_LIMIT,
    ...(description !== undefined && { describe: () => description }),
    execute: async () => outputs.shift() ?? record.blocked(),
  });
}

/** The record does not say which calls were refused. It matters only where refusals ended the run. */
function isRefusal(
  step: string,
  { result }: Extract<CallOutcome, { type: 'result' }>,
  { pass: { end, events } }: Recording,
): boolean {
  if (end?.reason !== 'limit-refusals' || !result.isError) return false;
  const turns = events.flatMap(({ body }) => (body.type === 'turn-end' ? [body.step] : []));
  return turns.slice(-REFUSED_TURNS).some((turn) => step.startsWith(`${turn}.`));
}

function outputOf({ step, result, fromOutside, asks }: ToolResult, events: readonly TaskEvent[]): ToolOutput {
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
