import { z } from 'zod';
import { makeAgent, type LoopAgent } from '../agents/agent.js';
import { keyOf, type AgentFunction, type Call, type CallOutcome } from '../agents/agent-function.js';
import { askUser, CONTROL_NAMES, declineRequest } from '../agents/control-functions.js';
import { Delegations } from '../agents/delegation.js';
import { OUTPUT_ARTIFACT_ID, WRONG_OUTPUT, type OutputReader } from '../agents/output.js';
import { toolFunction } from '../agents/tool-function.js';
import { TRANSFER_NAME } from '../agents/transfer.js';
import { FLAT_AGENT_NAME, ORCHESTRATOR_NAME, type AgentLimits, type PeerDirectory } from '../core/agent.js';
import { textOf } from '../core/message.js';
import { answerText } from '../core/model.js';
import type { RunMemory } from '../core/run.js';
import { isFromOutside, type BodyOf, type EventBody, type Question, type TaskEvent } from '../core/task.js';
import { defineTool, type ToolOutput } from '../core/tool.js';
import { rootOf, type Pass, type Recording } from './passes.js';
import { recordedModel } from './recorded-model.js';

const UNLIMITED = Number.MAX_SAFE_INTEGER;
/** Results were cut to their limit when they were recorded. */
const NO_LIMIT = 2 ** 31 - 1;

/** The agent of a recorded run: the loop of this version, with what the record says of the agent. */
export function agentOfRecord(recording: Recording, peers: PeerDirectory): LoopAgent {
  const { agent: name } = recording;
  const limits: AgentLimits = {
    ...recording.limits,
    ...{ toolOutputBytes: NO_LIMIT, historyTokens: UNLIMITED, entryBytes: UNLIMITED },
  };
  const context = {
    ...{ multiAgent: name !== FLAT_AGENT_NAME, nodeId: 'replay', limits, showsReasons: () => true },
    model: recordedModel(recording),
  };
  return makeAgent(context, {
    ...{ name, purpose: '', toolbox: undefined, prepare: async () => {}, extendedSkills: () => [] },
    output: outputOf(recording),
    open(_run, budget) {
      const delegations = new Delegations({ peers, limits, nodeId: context.nodeId, budget });
      return () => ({ system: [], functions: ownFunctions(name, delegations) });
    },
  });
}

/** The functions that are no tools. */
function ownFunctions(agent: string, delegations: Delegations): readonly AgentFunction[] {
  if (agent === ORCHESTRATOR_NAME) return [delegations.transferFunction()];
  return agent === FLAT_AGENT_NAME ? [askUser] : [declineRequest, askUser];
}

/** Earlier tasks of the conversation are not in the record. Whether they held text from outside shows in the first output. */
export function memoryOf({ before, events }: Pass): RunMemory {
  const first = events.find(({ body }) => body.type === 'turn-end');
  const known = [...before, ...events.slice(0, first ? events.indexOf(first) : 0)];
  const fromOutside =
    first !== undefined && isFromOutside(first.body) && !known.some(({ body }) => isFromOutside(body));
  return { recall: async () => ({ text: undefined, upTo: undefined, fromOutside }), runEnded: () => {} };
}

/** Reads the answers of an agent that answers with data as they were read; undefined for an agent that answers with text. */
function outputOf({ agent, events, pass }: Recording): OutputReader | undefined {
  const data = (list: readonly TaskEvent[]) =>
    list.flatMap(({ author, body }) => {
      if (body.type !== 'artifact' || body.artifact.id !== OUTPUT_ARTIFACT_ID || author !== agent) return [];
      return body.artifact.parts.flatMap((part) => (part.kind === 'data' ? [part.data] : []));
    });
  const isWrong = ({ body }: TaskEvent) => body.type === 'run-end' && body.reason === WRONG_OUTPUT;
  if (data(events).length === 0 && !events.some(isWrong)) return undefined;
  const [value] = data(pass.events);
  const last = pass.events.map(({ body }) => body).findLast((body) => body.type === 'turn-end');
  const said = textOf(pass.end?.message?.parts ?? []);
  const before = `schema of ${agent}: `;
  const problem = said.slice(said.indexOf(before) + before.length);
  return {
    schema: {},
    parse: (text) =>
      value !== undefined && last && answerText(last.content) === text ? { value } : { problem },
  };
}

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
    body.type === 'tool-result' && rootOf(body.step) === call.step ? [toolOutputOf(body, events)] : [],
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

function toolOutputOf(
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
