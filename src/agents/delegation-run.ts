import type { PeerDirectory, PeerEvent } from '../core/agent.js';
import { LangoError, errorText, isLangoError } from '../core/errors.js';
import { hashJson } from '../core/canonical-json.js';
import { dataBeside } from '../core/data-text.js';
import { defined } from '../core/json.js';
import { textPart, type Message } from '../core/message.js';
import { NO_USAGE, addUsage, type Usage } from '../core/model.js';
import { replyPart } from '../core/questions.js';
import type { AskedQuestion, Run } from '../core/run.js';
import { isInterrupted, narrowGrant } from '../core/task.js';
import type { BodyOf, Grant, Question } from '../core/task.js';
import { continueTrace } from '../core/trace.js';
import { cutText, shorten } from '../core/text.js';
import { Deadline } from '../core/time.js';
import type { AgentContext } from './agent.js';
import { resultOf, type Call, type CallOutcome } from './agent-function.js';
import {
  MAX_OPEN_QUESTIONS,
  findReply,
  questionHash,
  withVisibleCharacters,
  withinReplyTime,
} from './asking.js';
import type { Budget } from './budget.js';
import { failureText, NO_REASON, openRelay, type PeerRelay } from './peer-relay.js';
import { Authorization } from './authorization.js';
import { carriedUserMessage } from './user-messages.js';

/** The parts that all delegations of one run share. Without `attachments`, files are sent as they are. */
export interface DelegationOptions extends Pick<AgentContext, 'limits' | 'nodeId' | 'attachments'> {
  readonly peers: PeerDirectory;
  readonly budget: Budget;
}

export interface DelegationRun extends DelegationOptions {
  readonly call: Call;
  readonly agent: string;
  readonly request: string;
  /** Whether the agent's answer is the user's answer. */
  readonly final: boolean;
  /** The ids that agents of other servers gave this conversation. */
  readonly contexts: PeerContexts;
  /** The number of delegations that share the remaining budget. */
  readonly roundSize: () => number;
  /** The time, by `performance.now`, at which the delegation ends, so that this agent has time left to answer. */
  readonly until: number;
}

type DelegationEnd = BodyOf<'delegation-end'>;

const REASON_CHARACTERS = 1_000;

/** One message to the peer: the request, or a person's reply to the peer's question. */
interface Exchange {
  readonly step: string;
  readonly message: Message;
  /** The questions that a reply is for; undefined for the request. */
  readonly questions?: readonly Question[];
  /** Whether the peer may ask no more questions: it got as many replies as one task may have turns. */
  readonly isLast: boolean;
}

/**
 * Sends the request to one agent and, while that agent waits for a person, forwards the person's replies. Each exchange
 * is a step of its own ("t1.c0", "t1.c0.x1", …) with the key of its message, so no message is sent twice.
 */
export async function runDelegation(delegation: DelegationRun) {
  const { call, contexts, agent } = delegation;
  const forwarded = new Set<string>();
  const progress = { taskId: call.run.recorded(call.step)?.childTaskId, used: NO_USAGE };
  const message = await requestMessage(delegation);
  let exchange: Exchange = { step: call.step, message, isLast: false };
  for (let number = 1; ; number += 1) {
    const end = await endOf(delegation, exchange, progress);
    progress.used = addUsage(progress.used, end.usage);
    contexts.note(agent, end.peerContextId);
    if (!isInterrupted(end.state)) return { state: end.state, outcome: outcomeOf(delegation, end) };
    const { questions = [] } = end;
    const reply = nextReply(call.run, questions, forwarded);
    if (!reply) return { state: end.state, outcome: waiting(delegation, end, forwarded) };
    reply.ids.forEach((id) => forwarded.add(id));
    const message: Message = { id: hashJson([call.key, ...reply.ids]), role: 'user', parts: reply.parts };
    const isLast = number >= delegation.limits.turns;
    exchange = { step: `${call.step}.x${number}`, message, questions, isLast };
  }
}

/** The id and the usage of the peer's task, as far as they are known. */
interface Progress {
  taskId: string | undefined;
  used: Usage;
}

/** Returns the recorded end of the exchange or performs it, and counts what it cost on other nodes. */
async function endOf(delegation: DelegationRun, exchange: Exchange, progress: Progress) {
  const { call, nodeId, budget } = delegation;
  const { step } = exchange;
  const recorded = call.run.recorded(step)?.result;
  let usage = NO_USAGE;
  try {
    const end =
      recorded?.type === 'delegation-end' ? recorded : await exchangeWithPeer(delegation, exchange, progress);
    usage = end.usage;
    return end;
  } finally {
    const rows = usage.rows?.filter(({ node }) => node !== nodeId) ?? [];
    await budget.settle(step, { ...usage, rows });
  }
}

/** Sends one message to the peer, relays its events, and records the end of the exchange. */
async function exchangeWithPeer(delegation: DelegationRun, exchange: Exchange, progress: Progress) {
  const { call, agent, request, final } = delegation;
  const { run } = call;
  const { step, message, questions: repliedTo } = exchange;
  const isRepeat = run.recorded(step) !== undefined;
  if (!isRepeat) {
    const key = message.id;
    await run.append({ type: 'delegation-start', step, callId: call.id, agent, request, final, key });
  }
  const { limits } = delegation;
  const { entryBytes } = limits;
  const sharedBy = delegation.roundSize();
  const isReply = repliedTo !== undefined;
  const relay = await openRelay({ run, step, agent, isAnswer: final, entryBytes, sharedBy }, isReply);
  let end = await followPeer(delegation, exchange, { relay, progress, isRepeat });
  if (exchange.isLast && isInterrupted(end.state)) {
    // The peer asks another question after its last reply.
    const { taskId } = progress;
    if (taskId !== undefined) await delegation.peers.get(agent)?.cancel(run.task, { taskId });
    const text = `it asked again after ${limits.turns} replies (agent.limits.turns)`;
    end = { ...end, state: 'failed', text, questions: [] };
  }
  run.signal.throwIfAborted();
  const questions = questionsOf(delegation, step, end);
  for (const question of questions) {
    if (!run.questions.has(question.hash)) run.emit({ type: 'question', step, question }, end.author);
  }
  const body: DelegationEnd = {
    type: 'delegation-end',
    step,
    agent,
    state: end.state,
    result: resultOf(call, resultText(delegation, end, relay), end.state !== 'completed'),
    // A peer reports the total of its task at the end of each exchange.
    usage: addUsage(end.usage, progress.used, -1),
    ...(end.state === 'failed' && end.text !== '' ? { reason: shorten(end.text, REASON_CHARACTERS) } : {}),
    ...(end.author === agent ? {} : { author: end.author }),
    ...(questions.length === 0 ? {} : { questions }),
    ...(end.peerContextId === undefined ? {} : { peerContextId: end.peerContextId }),
    ...(end.fromOutside ? { fromOutside: true } : {}),
  };
  await run.append(body);
  return body;
}

type PeerEnd = Extract<PeerEvent, { type: 'end' }>;

/**
 * Sends the message and relays the peer's events until its `end`. When that takes too long or does not fit into this task,
 * the peer's task is canceled and the end says why. Rejects only when the run is aborted. `isRepeat`: whether an earlier
 * attempt of the run began this exchange.
 */
async function followPeer(
  delegation: DelegationRun,
  { step, message, questions }: Exchange,
  { relay, progress, isRepeat }: { relay: PeerRelay; progress: Progress; isRepeat: boolean },
): Promise<PeerEnd> {
  const { call, peers, agent, budget, contexts, roundSize, until } = delegation;
  const { run } = call;
  const { tenant, owner, contextId, id: parentTaskId } = run.task;
  const peer = await peers.wait(agent, run.signal);
  if (!peer) return failed(agent, `${agent} is not available any more.`);
  const share = await budget.share(step, { sharedBy: roundSize(), isRemote: peer.isRemote });
  const grant = childGrant(delegation, step, share);
  const { taskId } = progress;
  const request = {
    scope: { tenant, owner },
    message,
    contextId,
    peerContextId: peer.isRemote ? await contexts.of(agent, run) : undefined,
    parentTaskId,
    grant,
    isReply: questions !== undefined,
    isRepeat,
    ...defined({ taskId, questions }),
  };
  using deadline = new Deadline(run.signal).expect(
    until - performance.now(),
    () => new LangoError('timeout', 'it did not finish in time (agent.limits.seconds)'),
  );
  using authorization = new Authorization(run, step);
  const signal = AbortSignal.any([deadline.signal, authorization.signal]);
  try {
    for await (const event of peer.send(request, signal)) {
      if (event.type === 'authorization')
        authorization.pass(event, event.waiting ? questionsOf(delegation, step, event.waiting) : []);
      if (event.type === 'task' && progress.taskId === undefined) progress.taskId = event.taskId;
      if (event.type === 'end') {
        relay.finish(event, questionsOf(delegation, step, event));
        return event;
      }
      if (event.type !== 'authorization') relay.pass(event);
    }
  } catch (error) {
    run.signal.throwIfAborted();
    run.logger.error('a peer failed', { peer: agent, error: errorText(error) });
    const { taskId: known } = progress;
    const asked = { contextId: request.peerContextId ?? contextId, messageId: message.id };
    await peer.cancel(run.task, known ? { taskId: known } : asked);
    if (isLangoError(error)) return failed(agent, error.message);
  }
  return failed(agent, `The connection to ${agent} ended without a response.`);
}

/** Narrows the grant of this task to the share of the peer. */
function childGrant(
  { call: { run }, nodeId }: DelegationRun,
  step: string,
  share: Pick<Grant, 'tokens' | 'cost'>,
): Grant {
  return narrowGrant(run.grant, {
    ...share,
    chain: [...run.grant.chain, `${run.task.agent}@${nodeId}`],
    depth: run.grant.depth - 1,
    fromOutside: run.hasReadOutside(),
    // The span of the child task is below that of this delegation, also when it runs on another node.
    trace: continueTrace(run.task, step),
  });
}

/** Makes the request to the peer, with the user's files and data in the forms that the peer's card accepts. */
async function requestMessage(delegation: DelegationRun): Promise<Message> {
  const { call, request, agent, peers, attachments } = delegation;
  const carried = carriedUserMessage(call.run);
  const peer = carried.parts.length > 0 ? await peers.wait(agent, call.run.signal) : undefined;
  const modes = peer?.inputModes;
  const whole = [textPart(request), ...carried.parts];
  const parts = modes && attachments ? await attachments.fit(whole, modes, call.run) : whole;
  return { ...carried, id: call.key, role: 'user', parts };
}

/** A reply to the peer's question: a person's message, or the denial of an expired question. */
interface ForwardedReply extends Pick<Message, 'parts'> {
  /** The ids of the messages and expiries that it is made of. */
  readonly ids: readonly string[];
}

/**
 * Returns the first reply to one of the peer's questions that was not forwarded yet. An agent of another framework gets all
 * its decisions in one message, because it may not ask about the other calls again after the first decision.
 */
function nextReply(run: Run, questions: readonly Question[], forwarded: ReadonlySet<string>) {
  const asked = questions.flatMap(({ hash }) => run.questions.get(hash) ?? []);
  if (asked.some(({ question }) => question.replies)) {
    const decisions = asked.map((one) => decisionOn(one, run, forwarded));
    const made = decisions.flatMap((one) => one ?? []);
    const ids = [...new Set(made.map(({ id }) => id))];
    return made.length < asked.length ? undefined : { ids, parts: made.map(({ part }) => part) };
  }
  const given = run.inputs.flatMap((input): readonly ForwardedReply[] => {
    const given = asked.flatMap((one) => {
      const reply = findReply(one, [input]);
      return reply ? [{ ...reply, question: one.question }] : [];
    });
    const decided = given.filter(({ isText, question: { kind } }) => isText && kind !== 'input');
    // A decision in words is sent to the peer as data, since the peer may not know the codes.
    if (decided.length > 0)
      return [{ ids: [input.message.id], parts: decided.map(({ reply }) => replyPart(reply)) }];
    const [first] = given;
    return first ? [{ ids: [input.message.id], parts: input.message.parts }] : [];
  });
  const expired = asked.filter(({ expiredAt }) => expiredAt !== undefined);
  const replies: readonly ForwardedReply[] = [...given, ...expired.map(denialOf)];
  return replies.find(({ ids }) => !ids.some((id) => forwarded.has(id)));
}

/** The decision about a call of an agent of another framework; undefined while it is open. */
function decisionOn(asked: AskedQuestion, run: Run, forwarded: ReadonlySet<string>) {
  const { hash, replies } = asked.question;
  const given = findReply(
    asked,
    run.inputs.filter(({ message }) => !forwarded.has(message.id)),
  );
  const id = given ? given.message.id : asked.expiredAt !== undefined ? expiryId(hash) : undefined;
  if (id === undefined || !replies || forwarded.has(id)) return undefined;
  return { id, part: replyPart(given?.reply ?? { hash, decision: 'deny' }) };
}

/** Denies an expired question. The peer's clock may differ, so the question may still be open there. */
function denialOf({ question: { hash } }: AskedQuestion): ForwardedReply {
  const text = 'nobody replied in time';
  return { ids: [expiryId(hash)], parts: [replyPart({ hash, decision: 'deny', text })] };
}

function expiryId(hash: string): string {
  return `expiry:${hash}`;
}

/** Returns the peer's questions. When the peer waits without a typed question, makes one of its text. */
function questionsOf(delegation: DelegationRun, step: string, end: PeerEnd): readonly Question[] {
  const { call, agent, limits } = delegation;
  if (!isInterrupted(end.state)) return [];
  if (end.questions.length > 0) {
    return end.questions.slice(0, MAX_OPEN_QUESTIONS).map((one) => {
      const visible = { ...one, text: withVisibleCharacters(one.text) };
      return one.kind === 'input' ? visible : withinReplyTime(visible, limits);
    });
  }
  const text = withVisibleCharacters(end.text) || `${agent} needs something from you to continue.`;
  return [{ hash: questionHash(call.key, step), kind: 'input', text, author: end.author }];
}

/** Makes the run wait while a question of the peer is open. Otherwise returns an error that names the expiry to the model. */
function waiting(
  { call, agent }: DelegationRun,
  { state, questions = [] }: DelegationEnd,
  forwarded: ReadonlySet<string>,
): CallOutcome {
  const { run } = call;
  const open = questions.filter(({ hash }) => {
    const asked = run.questions.get(hash);
    return asked?.expiredAt === undefined && !(asked && decisionOn(asked, run, forwarded));
  });
  if (open.length > 0) {
    return { type: 'waiting', state: state === 'auth-required' ? state : 'input-required', questions: open };
  }
  const content = `${agent} waits for a reply that nobody gave in time. Do not ask it again.`;
  return { type: 'result', result: resultOf(call, content, true) };
}

function outcomeOf({ final }: DelegationRun, end: DelegationEnd): CallOutcome {
  if (final && end.state === 'completed') {
    return { type: 'answered', result: end.result, author: end.author ?? end.agent };
  }
  return { type: 'result', result: end.result };
}

function resultText({ agent, limits }: DelegationRun, end: PeerEnd, relay: PeerRelay): string {
  const whole = end.text.trim();
  const bounded = (text: string) => cutText(text, limits.toolOutputBytes, 'ask for less at once').text;
  const text = bounded(whole);
  switch (end.state) {
    case 'completed': {
      const said = whole === '' ? [] : [whole];
      const data = relay.data.flatMap((one) => dataBeside(said, one));
      const shown = bounded([...said, ...data].join('\n'));
      return [shown || `${agent} finished without any text.`, ...relay.delivered()].join('\n');
    }
    case 'rejected':
    case 'failed':
      return failureText(end.state, agent, text.replace(/\.$/, '') || NO_REASON);
    case 'canceled':
      return `${agent} did not finish: its task was canceled.`;
    case 'input-required':
    case 'auth-required':
      return text;
  }
}

function failed(author: string, text: string): PeerEnd {
  return { type: 'end', state: 'failed', text, author, questions: [], usage: NO_USAGE, fromOutside: false };
}

/** The number of newest events of the conversation that are searched. */
const SEARCHED_EVENTS = 200;

/**
 * The ids that agents of other servers gave this conversation, in place of ours. The journal keeps them, so a later task of
 * the conversation continues there, also after a restart.
 */
export class PeerContexts {
  readonly #known = new Map<string, string>();
  #earlier: Promise<ReadonlyMap<string, string>> | undefined;

  /** Notes the id of the newest exchange with the agent; undefined when it uses ours. */
  note(agent: string, id: string | undefined): void {
    if (id !== undefined) this.#known.set(agent, id);
  }

  async of(agent: string, run: Run): Promise<string | undefined> {
    return this.#known.get(agent) ?? (await (this.#earlier ??= inEarlierTasks(run))).get(agent);
  }
}

async function inEarlierTasks(run: Run): Promise<ReadonlyMap<string, string>> {
  const events = await run.history(SEARCHED_EVENTS);
  return new Map(
    events.flatMap(({ body }) =>
      body.type === 'delegation-end' && body.peerContextId !== undefined
        ? [[body.agent, body.peerContextId] as const]
        : [],
    ),
  );
}
