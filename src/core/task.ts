import type { ForkPlace, Variation } from './fork.js';
import { defined, type Json, type JsonObject } from './json.js';
import type { Artifact, Message } from './message.js';
import type { AnswerBlock, AskedRequest, FunctionResult, StopReason, Usage } from './model.js';
import type { Origin } from './origin.js';

const TERMINAL = ['completed', 'failed', 'canceled', 'rejected'] as const;
/** A2A 1.0 section 4.1.3, in the words the protocol uses. */
export const TASK_STATES = ['submitted', 'working', 'input-required', 'auth-required', ...TERMINAL] as const;

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
export interface Trace {
  /** In the form of version 00. */
  readonly traceparent: string;
  /** Data of the systems on the way, passed on unchanged. */
  readonly tracestate?: string;
}

/** The rights of a task. A grant travels with delegations (the delegation-chain extension) and only narrows: see `narrowGrant`. */
export interface Grant {
  /** The agents that delegated to this task, root first, each as "name@node". Empty for a person's own task. */
  readonly chain: readonly string[];
  /** The number of levels of delegation that are allowed below this task. */
  readonly depth: number;
  /** The time after which nothing may start, in milliseconds since the epoch. */
  readonly deadline?: number;
  /** The model tokens that this task and the tasks below it may still use. */
  readonly tokens?: number;
  /** The money that this task and the tasks below it may still cost. */
  readonly cost?: Money;
  /** The names of the only tools that may run; absent for all tools of the agent. */
  readonly tools?: readonly string[];
  /** The scopes of the person's token; absent when there are none. Trusted nodes get them with a delegation. */
  readonly scopes?: readonly string[];
  /** The request may come from text from outside: everything that is kept for it gets this mark. */
  readonly fromOutside?: boolean;
  /** The trace of the task. It gives no authority, but travels the same way. */
  readonly trace?: Trace;
}

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
export interface Question {
  /** The id that a reply names. For an approval, the hash of task, call, tool and exact arguments. */
  readonly hash: string;
  readonly kind: 'approval' | 'outcome-unknown' | 'input';
  /** One sentence for the person. */
  readonly text: string;
  /** The agent that asks. */
  readonly author: string;
  readonly tool?: string;
  readonly arguments?: JsonObject;
  /** The JSON schema of the reply that an agent of another framework wants. */
  readonly answerSchema?: JsonObject;
  /** The form in which an agent of another framework takes each decision. */
  readonly replies?: Readonly<Record<Reply['decision'], JsonObject>>;
  /** The time at which a question without a reply counts as denied, in milliseconds since the epoch. Absent: never. */
  readonly expiresAt?: number;
}

/** A person's reply to a question. The first reply that names the hash counts. */
export interface Reply {
  readonly hash: string;
  readonly decision: 'approve' | 'deny';
  /** The reason of a denial, which the model gets; or the reply to a question for input. */
  readonly text?: string;
}

/** An action of an agent, as others see it. A text with an `id` is a part of that message; `replace` restarts it. */
export type Activity =
  | { readonly type: 'turn-start' }
  | { readonly type: 'thinking'; readonly text: string }
  /** `waitMs`: the text says that the agent waits so long before it asks its model again. */
  | Readonly<{ type: 'text'; text: string; id?: string; replace?: boolean; waitMs?: number }>
  | { readonly type: 'tool-call'; readonly tool: string; readonly arguments: JsonObject }
  | { readonly type: 'tool-result'; readonly tool: string; readonly isError: boolean; readonly text: string }
  | { readonly type: 'delegation-start'; readonly agent: string; readonly request: string }
  | Readonly<{ type: 'delegation-end'; agent: string; state: TaskState; reason?: string }>;

/**
 * One entry of a task's journal. Steps (turn, tool, delegation) are pairs of an intent and a result with one `step` id,
 * which means the same work on every attempt. `fromOutside` marks text from a page, a document or another server's agent,
 * and everything that was said after such text was read. `from` names the entries of a task below whose content the entry
 * repeats: the store then keeps the content only there, and every reader gets it whole.
 */
export type EventBody =
  /** A message of the caller: the first event of each task, and each follow-up. */
  | { readonly type: 'message'; readonly message: Message; readonly request?: JsonObject }
  | { readonly type: 'run-start'; readonly attempt: number }
  | { readonly type: 'turn-start'; readonly step: string }
  /**
   * Text of the artifact `artifactId`, or of a message with that id; `replace` starts it again. `isLive`: subscribers may
   * have seen it, or a part of it, before it had a number.
   */
  | {
      readonly type: 'text-delta';
      readonly artifactId: string;
      readonly text: string;
      readonly replace: boolean;
      readonly isMessage?: true;
      readonly name?: string;
      readonly isLive?: true;
      /** `true`: this text ends the artifact. `false`, or undefined of an emitted text: the journal marks the end. */
      readonly lastChunk?: boolean;
      readonly from?: Origin;
    }
  | {
      readonly type: 'artifact';
      readonly artifact: Artifact;
      readonly append: boolean;
      readonly lastChunk?: boolean;
      readonly metadata?: JsonObject;
      /** The artifact holds the parts of this message, which is the whole response in place of a task. */
      readonly reply?: Omit<Message, 'parts'> & { readonly contextId: string; readonly taskId: string };
      /** Holds the parts of the artifact. */
      readonly from?: Origin;
    }
  /**
   * A status of an executor (see `AgentProfile.isExecutor`). Metadata of its events becomes metadata of the task. With
   * `auth-required`, which any agent may write, the run goes on, and waits for a credential that comes by another way. Any
   * agent may say with `working` what it waits for.
   */
  | Readonly<{
      type: 'status';
      state: 'submitted' | 'working' | 'auth-required';
      message?: Message;
      /** The questions that came with it. */
      questions?: readonly Question[];
      metadata?: JsonObject;
    }>
  | {
      readonly type: 'turn-end';
      readonly step: string;
      readonly content: readonly AnswerBlock[];
      readonly stopReason: StopReason;
      readonly usage: Usage;
      readonly fromOutside?: boolean;
      readonly refusal?: string; // Why the vendor's filter refused, in its words.
      readonly asked?: AskedRequest;
    }
  /** The requests of this turn and of later ones hold no more what is cleared here. */
  | ({ readonly type: 'results-cleared'; readonly step: string } & Clearing)
  | {
      readonly type: 'tool-call';
      readonly step: string;
      readonly callId: string;
      readonly tool: string;
      readonly arguments: JsonObject;
      readonly effect: EffectClass;
      readonly key: string;
    }
  | {
      readonly type: 'tool-result';
      readonly step: string;
      readonly result: FunctionResult;
      readonly fromOutside?: boolean;
      readonly asks?: Readonly<{ questions: readonly string[]; state: Json }>; // Another step goes on with the replies.
    }
  | {
      readonly type: 'delegation-start';
      readonly step: string;
      readonly callId: string;
      readonly agent: string;
      readonly request: string;
      readonly final: boolean;
      /** The message id of the request, the same on every attempt. */
      readonly key: string;
    }
  /** The peer's task, to which a resumed run re-attaches. */
  | { readonly type: 'delegation-task'; readonly step: string; readonly taskId: string }
  | {
      readonly type: 'delegation-end';
      readonly step: string;
      readonly agent: string;
      /** After an interrupted state, another step continues the peer's task with the person's reply. */
      readonly state: TaskState;
      readonly result: FunctionResult;
      /** Why the peer did not complete its task, for the people who watch. */
      readonly reason?: string;
      /** The agent that wrote the output, when it is another than `agent`: one that `agent` delegated to. */
      readonly author?: string;
      /** The usage of the peer's task since the last entry of this type. */
      readonly usage: Usage;
      /** The peer's questions, with an interrupted state. */
      readonly questions?: readonly Question[];
      /** The peer's own id of the conversation, which later requests to it continue. */
      readonly peerContextId?: string;
      readonly fromOutside?: boolean;
    }
  /** The work of an agent below, which is the event's author. */
  | { readonly type: 'activity'; readonly activity: Activity; readonly from?: Origin }
  | { readonly type: 'question'; readonly step: string; readonly question: Question }
  /** Ends the time of questions whose `expiresAt` has passed: later replies do not count. */
  | { readonly type: 'question-expiry' }
  | { readonly type: 'cancel-request' }
  /** Begins what a fork has of its own. Results that follow replace those of steps that were not over at its place. */
  | ({ readonly type: 'fork' } & ForkPlace & Variation)
  /** Ends a run. The log of an ended task has exactly one with a terminal state, as its last event. */
  | {
      readonly type: 'run-end';
      readonly state: Exclude<TaskState, 'submitted' | 'working'>;
      /** A stable code for programs ("limit-tokens", "model-unreachable"); absent on success. */
      readonly reason?: string;
      readonly message?: Message;
      readonly metadata?: JsonObject;
      readonly questions?: readonly Question[];
      readonly usage: Usage;
      readonly fromOutside?: boolean;
      /** Whether a model's vendor refused the request for what it holds, whatever that is. */
      readonly refused?: boolean;
    };

export type EventType = EventBody['type'];

/**
 * The parts of a conversation that were cleared because it did not fit into the model's context window. The members are
 * numbers of turns, and 0 is the number of all earlier tasks of the session.
 */
export interface Clearing {
  /** Results of turns before this one are cleared. */
  readonly results: number;
  /** Calls of turns before this one are left out with their results. */
  readonly calls: number;
  /** Calls with errors of turns before this one are left out too. */
  readonly errors: number;
  /** The number of messages of earlier tasks that are left out, the oldest first. */
  readonly earlier: number;
  /** The most bytes of each result that is left. */
  readonly bytes?: number;
  /** The context window in tokens, when the vendor told it. */
  readonly window?: number;
}

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
export type EffectClass = 'pure' | 'keyed' | 'queryable' | 'unsafe';
