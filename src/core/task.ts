import type { z } from 'zod';
import type { activity, clearing, eventBody, grant, question, trace } from './event-schema.js';
import type { ForkPlace } from './fork.js';
import { defined } from './json.js';
import type { Message } from './message.js';
import { TERMINAL, type TASK_STATES } from './task-states.js';

export type TaskState = (typeof TASK_STATES)[number];

const TERMINAL_STATES: ReadonlySet<TaskState> = new Set(TERMINAL);

export function isTerminal(state: TaskState): boolean {
  return TERMINAL_STATES.has(state);
}

/** Whether the task waits for a person: no run is active, and none starts before a message arrives. */
export function isInterrupted(state: TaskState): boolean {
  return state === 'input-required' || state === 'auth-required';
}

/** The owner of data. Every key in the store begins with it. */
export interface Scope {
  /** A2A's tenant; empty without tenants. */
  readonly tenant: string;
  /** The authenticated party. */
  readonly owner: string;
}

/** The newest key: one request asks for the same again and again. */
let newest = { tenant: '', owner: '', key: '["",""]' };

/** Returns a unique text for the scope, as a key of maps. */
export function scopeKey({ tenant, owner }: Scope): string {
  if (newest.tenant !== tenant || newest.owner !== owner)
    newest = { tenant, owner, key: JSON.stringify([tenant, owner]) };
  return newest.key;
}

/** A trace (W3C Trace Context). The members have the names of the headers and metadata entries that carry it. */
export type Trace = Readonly<z.output<typeof trace>>;

/** The rights of a task. A grant travels with delegations (the delegation-chain extension) and only narrows: see `narrowGrant`. */
export type Grant = Readonly<z.output<typeof grant>>;

export type Money = Readonly<{ amount: number; currency: string }>;

/** A task as lists show it, without its log. */
export interface TaskRecord extends Scope {
  /** Time-ordered: see `newId`. */
  readonly id: string;
  readonly agent: string;
  readonly contextId: string;
  readonly parentTaskId: string | undefined;
  readonly fork?: ForkPlace; // The task whose first events it shares.
  readonly grant: Grant;
  readonly state: TaskState;
  /** The message of the state: a question, a reason. */
  readonly statusMessage: Message | undefined;
  /** The `seq` of the newest event. */
  readonly head: number;
  /** Rises each time a worker takes the task; the store refuses an append with an older epoch. */
  readonly epoch: number;
  /** The number of processes that ended without a stop while they had the task, since the task last recorded a step. */
  readonly crashes: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** When the state was last set. Lists are sorted by it, the newest first. */
  readonly statusAt: number;
}

/** A question that a task waits for a person to reply to. */
export type Question = Readonly<z.output<typeof question>>;

/** A person's reply to a question. The first reply that names the hash counts. */
export interface Reply {
  readonly hash: string;
  readonly decision: 'approve' | 'deny';
  /** The reason of a denial, which the model gets; or the reply to a question for input. */
  readonly text?: string;
}

/** An action of an agent, as others see it. A text with an `id` is a part of that message; `replace` restarts it. */
export type Activity = Readonly<z.output<typeof activity>>;

/**
 * One entry of a task's journal. Steps (turn, tool, delegation) are pairs of an intent and a result with one `step` id,
 * which means the same work on every attempt. `fromOutside` marks text from a page, a document or another server's agent,
 * and everything that was said after such text was read. `from` names the entries of a task below whose content the entry
 * repeats: the store then keeps the content only there, and every reader gets it whole.
 */
export type EventBody = Readonly<z.output<typeof eventBody>>;

export type EventType = EventBody['type'];

/**
 * The parts of a conversation that were cleared because it did not fit into the model's context window. The members are
 * numbers of turns, and 0 is the number of all earlier tasks of the session.
 */
export type Clearing = Readonly<z.output<typeof clearing>>;

export interface NewEvent {
  /** An agent's name, or "user". Undefined in logs of writers that gave none. */
  readonly author: string | undefined;
  readonly body: EventBody;
}

/** Text of a run that is not in the journal yet, without a number. It becomes a part of an entry, or is lost with its run. */
export interface LiveText extends NewEvent {
  readonly body: TextDelta;
}

export type BodyOf<Type extends EventType> = Extract<EventBody, { readonly type: Type }>;
export type TextDelta = Extract<EventBody, { type: 'text-delta' }>;

export interface TaskEvent extends NewEvent {
  readonly taskId: string;
  /** Counts from 1 within the task, without gaps. The cursor of streams. */
  readonly seq: number;
  /** Milliseconds since the epoch, by the store's clock. */
  readonly at: number;
}

/** Whether the entry holds text from outside. */
export function isFromOutside(body: EventBody): boolean {
  return 'fromOutside' in body && body.fromOutside === true;
}

/** Whether this ends a task whose content a model or its vendor refused. Later requests with it would be refused too. */
export function isRefused(body: EventBody): boolean {
  return body.type === 'run-end' && (body.refused === true || body.reason === 'model-refusal');
}

/**
 * Returns the state that appending `body` sets; undefined when the state stays. A message or expired questions set a task
 * that waits for a person to `submitted`; a message to a working task changes no state.
 */
export function stateAfter(body: EventBody, before: TaskState): TaskState | undefined {
  if (body.type === 'run-end' || body.type === 'status') return body.state;
  if (body.type === 'run-start') return 'working';
  const isWork = body.type === 'message' || body.type === 'question-expiry' || body.type === 'fork';
  return isWork && before !== 'working' ? 'submitted' : undefined;
}

/** Returns the grant of a child task. The limits of `by` can only make the parent's grant smaller. */
export function narrowGrant(parent: Grant, by: Partial<Grant>): Grant {
  return {
    chain: by.chain ?? parent.chain,
    depth: Math.min(parent.depth, by.depth ?? parent.depth),
    ...defined({
      deadline: narrower(parent.deadline, by.deadline, Math.min),
      tokens: narrower(parent.tokens, by.tokens, Math.min),
      cost: narrower(parent.cost, by.cost, lesser),
      tools: narrower(parent.tools, by.tools, shared),
      scopes: narrower(parent.scopes, by.scopes, shared),
      fromOutside: parent.fromOutside || by.fromOutside || undefined,
      trace: by.trace ?? parent.trace,
    }),
  };
}

/** Amounts of two currencies cannot be compared: nothing is left. */
const lesser = (a: Money, b: Money): Money => ({
  amount: a.currency === b.currency ? Math.min(a.amount, b.amount) : 0,
  currency: a.currency,
});
const shared = (a: readonly string[], b: readonly string[]) => a.filter((name) => b.includes(name));

function narrower<T>(a: T | undefined, b: T | undefined, narrow: (a: T, b: T) => T): T | undefined {
  return a === undefined || b === undefined ? (a ?? b) : narrow(a, b);
}

/**
 * The handling of a call whose result is unknown because the process ended in between: `pure` runs again; `keyed` runs
 * again with the same key, which the target knows to be a repeat; `queryable` finds out what happened (`settle`);
 * `unsafe` is never repeated without a person's decision.
 */
export type EffectClass = BodyOf<'tool-call'>['effect'];
