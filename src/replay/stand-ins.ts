import { z } from 'zod';
import { makeAgent, type LoopAgent } from '../agents/agent.js';
import { keyOf, type AgentFunction, type Call, type CallOutcome } from '../agents/agent-function.js';
import { askUser, CONTROL_NAMES, declineRequest } from '../agents/control-functions.js';
import { Delegations } from '../agents/delegation.js';
import { OUTPUT_ARTIFACT_ID, WRONG_OUTPUT, type OutputReader } from '../agents/output.js';
import { failureText, NO_REASON } from '../agents/peer-relay.js';
import { toolFunction } from '../agents/tool-function.js';
import { TRANSFER_NAME } from '../agents/transfer.js';
import { FLAT_AGENT_NAME, ORCHESTRATOR_NAME } from '../core/agent.js';
import type { AgentLimits, Peer, PeerDirectory, PeerEvent } from '../core/agent.js';
import { defined } from '../core/json.js';
import { textOf } from '../core/message.js';
import { addUsage, answerText, NO_USAGE } from '../core/model.js';
import type { ModelErrorCode, ModelEvent, ModelProvider, ModelRequest } from '../core/model.js';
import type { RunMemory } from '../core/run.js';
import { isFromOutside, type BodyOf, type EventBody, type TaskEvent } from '../core/task.js';
import { defineTool, type ToolOutput } from '../core/tool.js';
import { rootOf, type Pass, type Recording } from './passes.js';

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
    // The words of a tool about its call: "May operator DO THIS?"
    ...(approval &&
      approval.hash !== keyed.key && {
        describe: () => approval.text.slice(`May ${approval.author} `.length, -1),
      }),
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

/** The marks after a text that a failure or a time limit cut off. The loop adds them again. */
const CUT_MARK = /\n\n\[The answer is incomplete: [^\]\n]+\]$/;
/** The journal writes the last character of a text with what follows it. */
const HELD_BACK = '…';

export type OnRequest = (request: ModelRequest, step: string) => void;

/**
 * Gives the outputs that the model gave in a recorded run, in order. `blocked` is called when the record holds no more, and
 * `onRequest` with each request as it is now, and the turn that it is of.
 */
export function recordedModel({ agent, pass, blocked }: Recording, onRequest?: OnRequest): ModelProvider {
  let asked = 0;
  return {
    id: 'recorded',
    async *stream(request): AsyncGenerator<ModelEvent> {
      asked += 1;
      const step = stepAfter(pass, asked);
      onRequest?.(request, step);
      const { end, text } = turnOf(pass, agent, step);
      const failure = end ? undefined : failureOf(pass);
      const shown = end || failure || text === '' || CUT_MARK.test(text) ? text : text + HELD_BACK;
      const said = end ? shown : shown.replace(CUT_MARK, '');
      if (said !== '') yield { type: 'text', text: said };
      if (failure) yield failure;
      else if (end) {
        const { content, stopReason, usage, refusal } = end;
        yield { type: 'end', answer: { content, stopReason, usage, ...(refusal && { refusal }) } };
      } else {
        await blocked().catch(() => undefined);
        yield { type: 'error', code: 'canceled', message: 'The record ends here.', retryable: false };
      }
    },
  };
}

/** The recorded text and end of a turn. A text after the end of the turn before it, and before its own end, belongs to it. */
function turnOf({ events }: Pass, agent: string, step: string) {
  const last = events.findIndex(({ body }) => body.type === 'turn-end' && body.step === step);
  const said = last < 0 ? events : events.slice(0, last);
  const first = said.findLastIndex(({ body }) => body.type === 'turn-end') + 1;
  const text = answerIn(said.slice(first), (author = agent) => author === agent) ?? '';
  return { end: events[last]?.body as BodyOf<'turn-end'> | undefined, text };
}

/** The failure that ended a run without an output; undefined when something else ended it. */
function failureOf({ end }: Pass): ModelEvent | undefined {
  const code = /^model-(.+)$/.exec(end?.reason ?? '')?.[1];
  if (!end || code === undefined) return undefined;
  const message = textOf(end.message?.parts ?? []);
  if (end.state === 'rejected')
    return { type: 'error', code: 'rejected', about: 'content', message, retryable: false };
  const about = end.refused ? {} : ({ about: 'key' } as const);
  return { type: 'error', code: code as ModelErrorCode, message, retryable: false, ...about };
}

/** The step of the output that a run asks for as its `number`th one. */
function stepAfter({ before }: Pass, number: number): string {
  return `t${before.filter(({ body }) => body.type === 'turn-end').length + number}`;
}

type EndEvent = Extract<PeerEvent, { type: 'end' }>;

/** The agents that a recorded task delegated to: each says again what it said. */
export function recordedPeers(options: Recording): PeerDirectory {
  const { events, blocked } = options;
  const starts = events.map(({ body }) => body).filter((body) => body.type === 'delegation-start');
  /** Agents that work at the same time may share the activities of an agent below. Each is passed on once. */
  const passed = new Set<TaskEvent>();
  const peers = [...new Set(starts.map(({ agent }) => agent))].map((name): Peer => ({
    ...{ name, description: '', skills: [], isRemote: false },
    async *send({ message }) {
      const step = starts.find(({ key }) => key === message.id)?.step;
      const end = step === undefined ? undefined : endOf(step, options);
      if (step !== undefined) yield* eventsOf(step, options, passed);
      if (end) yield end;
      else await blocked();
    },
    cancel: async () => {},
  }));
  const get = (name: string) => peers.find((peer) => peer.name === name);
  return { list: () => peers, ready: async () => {}, get, wait: async (name) => get(name) };
}

/** The events of the peer, as far as this run relayed it. */
function* eventsOf(step: string, { agent, pass: { events } }: Recording, passed: Set<TaskEvent>) {
  const isAt = ({ body }: TaskEvent, type: EventBody['type']) =>
    body.type === type && 'step' in body && body.step === step;
  const first = events.findIndex((event) => isAt(event, 'delegation-start'));
  const last = events.findIndex((event) => isAt(event, 'delegation-end'));
  for (const event of events.slice(first + 1, last < 0 ? undefined : last)) {
    const relayed = passed.has(event) ? undefined : relayedBy(step, event, agent);
    if (!relayed) continue;
    passed.add(event);
    yield relayed;
  }
}

function relayedBy(step: string, { author = '', body }: TaskEvent, agent: string): PeerEvent | undefined {
  const isOwn = author === agent;
  if (body.type === 'delegation-task')
    return body.step === step ? { type: 'task', taskId: body.taskId } : undefined;
  if (body.type === 'activity')
    return isOwn ? undefined : { type: 'activity', author, activity: body.activity };
  if (body.type === 'text-delta' && !body.isMessage) {
    const { artifactId, text, replace } = body;
    return isOwn ? undefined : { type: 'text-delta', author, artifactId, text, replace };
  }
  if (body.type !== 'text-delta' && body.type !== 'artifact') return undefined;
  const whole = body.type === 'artifact' ? body.artifact.id : body.artifactId;
  if (!whole.startsWith(`${step}/`)) return undefined;
  const id = whole.slice(step.length + 1);
  if (body.type === 'artifact') return { type: 'artifact', author, artifact: { ...body.artifact, id } };
  const { text, replace } = body;
  return { type: 'activity', author, activity: { type: 'text', id, text, ...(replace && { replace }) } };
}

/** The end that the peer reported; undefined when this run did not come so far. */
function endOf(step: string, { agent, events, pass }: Recording) {
  const isEnd = ({ body }: TaskEvent) => body.type === 'delegation-end' && body.step === step;
  const end = pass.events.find(isEnd)?.body as BodyOf<'delegation-end'> | undefined;
  if (!end) return undefined;
  const known = events.slice(0, events.findIndex(isEnd) + 1).map(({ body }) => body);
  // A peer reports the total of its task.
  const usage = known.reduce(
    (sum, body) =>
      body.type === 'delegation-end' && rootOf(body.step) === rootOf(step) ? addUsage(sum, body.usage) : sum,
    NO_USAGE,
  );
  const isFinal = known.some((body) => body.type === 'delegation-start' && body.step === step && body.final);
  // The user's answer is as this agent wrote it.
  const isAnswer = end.state === 'completed' && isFinal;
  const answer = isAnswer ? answerIn(pass.events, (author) => author !== agent) : undefined;
  return {
    ...({ type: 'end', state: end.state as EndEvent['state'], usage } as const),
    ...{ text: answer ?? sentText(end), author: end.author ?? end.agent },
    ...{ questions: end.questions ?? [], fromOutside: end.fromOutside ?? false },
    ...defined({ peerContextId: end.peerContextId }),
  };
}

/** The text that the peer sent, from the result that the model got: the delegation made that of this. */
function sentText({ state, agent, result: { content }, reason }: BodyOf<'delegation-end'>): string {
  if (state === 'canceled') return '';
  if (state === 'completed') {
    const text = content.replace(/(?:^|\n)\[delivered to the user: [^\n]*\]$/, '');
    return text === `${agent} finished without any text.` ? '' : text;
  }
  if (state !== 'rejected' && state !== 'failed') return content;
  const [begin = '', end = ''] = failureText(state, agent, '\n').split('\n');
  const isWhole = content.startsWith(begin) && content.endsWith(end);
  const text = isWhole ? content.slice(begin.length, -end.length) : content;
  if (text === NO_REASON) return '';
  return state === 'failed' && reason === `${text}.` ? reason : text;
}

/** The text that the pieces of an answer make; undefined without a piece. `isAuthor`: whose answer. */
function answerIn(
  events: readonly TaskEvent[],
  isAuthor: (author: string | undefined) => boolean,
): string | undefined {
  let text: string | undefined;
  for (const { author, body } of events)
    if (body.type === 'text-delta' && !body.isMessage && isAuthor(author))
      text = body.replace || text === undefined ? body.text : text + body.text;
  return text;
}
