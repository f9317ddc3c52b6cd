import type { Message, Artifact } from './message.js';
import type { ModelRequest, Usage } from './model.js';
import type { Run, RunEnd } from './run.js';
import type { Origin } from './origin.js';
import type { Activity, Grant, Money, Question, Scope, TaskState } from './task.js';

export interface Agent {
  readonly profile: AgentProfile;
  /**
   * Works on one task and stops soon after `run.signal` aborts. When it throws, the journal ends the task as failed, with
   * the text of a `LangoError` or a general one. The first append stores the task: await an `append` before doing
   * anything that must not happen for a task that could not be stored, or must not happen twice.
   */
  run(run: Run): Promise<RunEnd>;
}

export interface AgentProfile {
  /** Matches `AGENT_NAME`. */
  readonly name: string;
  /** One or two sentences for people and for an orchestrator, without names of tools. */
  readonly description: string;
  readonly use?: string | undefined; // What the configuration says that it is for.
  readonly skills: readonly Skill[];
  /** The skills that only authenticated callers see, such as each tool by name. Called for each request. */
  readonly extendedSkills?: () => readonly Skill[];
  readonly inputModes?: readonly string[]; // The media types that it takes. Default: text and JSON.
  readonly card?: CardDetails | undefined; // Default: the version of Lango, and nothing else.
  /** Written for the protocol's SDK: it gets the caller's whole request, and a message may be its response. */
  readonly isExecutor?: boolean;
}

/** The members of an agent card that say who offers the agent (A2A 1.0 section 4.4.1). */
export interface CardDetails {
  readonly version?: string | undefined;
  /** Without `url`, the server gives its own address. */
  readonly provider?: { readonly organization: string; readonly url?: string | undefined } | undefined;
  readonly iconUrl?: string | undefined;
  readonly documentationUrl?: string | undefined;
}

/** A skill of an agent card (A2A 1.0 section 4.4.5). */
export interface Skill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** Sentences that a person would say: "Read notes.md and tell me the last line." */
  readonly examples: readonly string[];
}

/** An agent that tasks can be delegated to over A2A, in the same way whether it runs in this process or elsewhere. */
export interface Peer extends AgentProfile {
  /** Whether it runs on another server. This server knows its cost only from its reports. */
  readonly isRemote: boolean;
  /**
   * Sends a request and yields events; the last one, and only that, is an `end`. Never throws: an unreachable peer yields
   * an `end` with state `failed`. Sending a message with the same id again re-attaches to the same task. When `signal`
   * aborts because the task is canceled, the peer's task is canceled too.
   */
  send(request: PeerRequest, signal: AbortSignal): AsyncIterable<PeerEvent>;
  /** Tries for a few seconds to cancel a task of the peer that no `send` follows. Never throws. */
  cancel(by: Scope & { readonly grant: Grant }, task: AskedTask): Promise<void>;
}

/** A task of a peer: by its id, or by the message that created it while the id is not known. */
export type AskedTask =
  { readonly taskId: string } | { readonly contextId: string; readonly messageId: string };

export interface PeerRequest {
  readonly scope: Scope;
  /** Has the role `user`; its id is the idempotency key. */
  readonly message: Message;
  readonly contextId: string;
  /** The peer's own id of the conversation, of an earlier end. Default: `contextId`. */
  readonly peerContextId?: string | undefined;
  readonly parentTaskId: string;
  readonly grant: Grant;
  /** The peer's task to continue (a reply to its question) or to re-attach to. */
  readonly taskId?: string;
  /** True when `message` replies to a question of the task `taskId`; false to only follow the task again. */
  readonly isReply?: boolean;
  /** The questions that `message` replies to, in the form that each question asks for. */
  readonly questions?: readonly Question[];
  /** An earlier process may have sent `message`: a peer without idempotent sends does not get it again. */
  readonly isRepeat?: boolean;
}

/**
 * The content of an event. `from`: the journal entries that hold it, of a peer whose tasks are in the same database. `isLive`:
 * text that is not in the journal of such a peer yet, and comes once more with the entry.
 */
type Said<Content> = Readonly<Content & { author: string; from?: Origin | undefined; isLive?: true }>;

export type PeerEvent =
  | { readonly type: 'task'; readonly taskId: string }
  | Said<{ type: 'activity'; activity: Activity }>
  | Said<{ type: 'text-delta'; artifactId: string; text: string; replace: boolean }>
  /** A whole file or data artifact. `from` holds its parts. */
  | Readonly<{ type: 'artifact'; author: string; artifact: Artifact; from?: Origin | undefined }>
  /** The peer cannot be reached at the moment, and the request waits for it. */
  | { readonly type: 'away'; readonly reason: string }
  /** The peer waits for a credential that may come by another way. Undefined when it goes on. */
  | {
      readonly type: 'authorization';
      readonly author: string;
      readonly waiting: Extract<PeerEvent, { readonly type: 'end' }> | undefined;
    }
  | {
      readonly type: 'end';
      readonly state: Exclude<TaskState, 'submitted' | 'working'>;
      /** The text of the output when completed, else the reason or the question. */
      readonly text: string;
      readonly author: string;
      readonly questions: readonly Question[];
      readonly usage: Usage;
      /** The peer's own id of the conversation, when it is another than it was sent. */
      readonly peerContextId?: string;
      /** Whether the text may come from outside sources. Always true for an agent of another server. */
      readonly fromOutside: boolean;
    };

/** The current peers. Agents read the list at each turn, because peers come and go. */
export interface PeerDirectory {
  list(): readonly Peer[];
  /** Resolves once the configured peers were tried, or after two seconds: a slow one then joins later. */
  ready(): Promise<void>;
  /** Finds a peer by name, also one that has left: its tasks may still be followed or canceled. */
  get(name: string): Peer | undefined;
  /** Like `get`, but waits a while for a configured peer that cannot be reached yet. Ends when `signal` aborts. */
  wait(name: string, signal: AbortSignal): Promise<Peer | undefined>;
}

/** The form of an agent's name, which is a part of its URL and a value that models choose. */
export const AGENT_NAME = /^[a-z][a-z0-9-]{0,63}$/;

export const MAX_NODE_NAME = 100;

const ID_CHARACTERS = 8;

/** The words for a node whose name is not known: the beginning of its id. */
export const shortNodeName = (id: string): string =>
  id.length > 2 * ID_CHARACTERS ? `node ${id.slice(0, ID_CHARACTERS)}` : id;

/** One agent of the roster, as data: shipped, or from the configuration. */
export interface AgentSpec {
  readonly name: string;
  /** The purpose in one sentence. The capabilities of the agent's tools are added to it. */
  readonly description: string;
  /** The task, input, output, constraints and the form of reports. */
  readonly instruction: string;
  /** The agent gets each tool whose name begins with one of these; the first spec that matches wins. */
  readonly prefixes: readonly string[];
  /** Whether the agent exists without a tool. */
  readonly alwaysInclude: boolean;
  /** Whether the agent also gets the tools that no prefix matches; true for at most one spec of a roster. */
  readonly takesUnmatched: boolean;
  readonly output?: ModelRequest['output']; // JSON Schema of its outputs. Default: text.
  readonly card?: CardDetails | undefined;
}

/** Prefixes are matched in this order (requirement P1). */
export type Roster = readonly AgentSpec[];

export const ORCHESTRATOR_NAME = 'lango-orchestrator';
export const FLAT_AGENT_NAME = 'lango-agent';

/** The `rootAgentName` of requirement A3. */
export function rootAgentName(multiAgent: boolean): string {
  return multiAgent ? ORCHESTRATOR_NAME : FLAT_AGENT_NAME;
}

/** The bounds of one task, enforced in code. The setting `agent.limits` documents each. */
export interface AgentLimits {
  /** Delegations at the same time are one round. */
  readonly delegationRounds: number;
  readonly fanOut: number;
  /** The longest chain of delegations. */
  readonly depth: number;
  readonly turns: number;
  readonly toolCalls: number;
  /** Input plus output tokens of a task and the tasks below it. */
  readonly tokens: number;
  readonly cost?: Money; // Default: none.
  readonly ownerCostPerDay?: Money; // Of all tasks of one owner. Default: none.
  /** Wall-clock time without the time of questions to a person. */
  readonly seconds: number;
  /** The time that a call waits for approval. */
  readonly approvalSeconds: number;
  /** Calls of one tool with equal arguments. */
  readonly repeats: number;
  readonly toolOutputBytes: number;
  readonly answerTokens: number;
  /** Estimated tokens of earlier conversation that a model gets. */
  readonly historyTokens: number;
  /** The largest journal entry, in bytes (tasks.eventBytes). */
  readonly entryBytes: number;
}

/** Keeps the day's (UTC) cost of each owner's model calls, together for all processes that share the database. */
export interface DailySpending {
  /** Reserves `amount`, or what `limit` leaves today, in place of an earlier reservation of the call. Resolves with the amount. */
  reserve(scope: Scope, call: { key: string; amount: number; limit: number }): Promise<number>;
  /** Ends the reservation of a call and counts its cost on the day of the reservation. Does nothing without one. */
  settle(scope: Scope, key: string, amount: number): Promise<void>;
  /** Resolves with what `limit` leaves to the owner today, without what is reserved. */
  left(scope: Scope, limit: number): Promise<number>;
}
