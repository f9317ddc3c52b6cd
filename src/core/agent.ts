import type { Message, Artifact } from './message.js';
import type { Usage } from './model.js';
import type { Run, RunEnd } from './run.js';
import type { Activity, Grant, Question, Scope, TaskState } from './task.js';

/** An agent that this server runs: its public face and its work. */
export interface Agent {
  readonly profile: AgentProfile;
  /**
   * Works on one task. May throw: the journal ends the task as failed, with the text of a
   * `LangoError` or a general one. Stops soon after `run.signal` aborts. The task is stored with the first thing that is
   * appended: what must not be done for a task that could not be stored, or not twice, waits for an `append`.
   */
  run(run: Run): Promise<RunEnd>;
}

export interface AgentProfile {
  /** As `AGENT_NAME` says. */
  readonly name: string;
  /** One or two sentences for people and for an orchestrator; never a tool name. */
  readonly description: string;
  readonly skills: readonly Skill[];
  /** What callers that are known may see besides: each tool by its name, each agent behind it. Asked at each request. */
  readonly extendedSkills?: () => readonly Skill[];
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

/**
 * An agent that tasks can be delegated to, behind A2A: in this process or on another machine, the
 * caller cannot tell. Made by `loadRemoteAgents`.
 */
export interface Peer extends AgentProfile {
  /**
   * Sends a request and yields what happens until exactly one `end`, which is last. Never throws: an
   * unreachable peer is an `end` with state `failed`. Sending the same `messageId` again re-attaches to
   * the same task. When `signal` aborts for cancel, the peer's task is canceled too.
   */
  send(request: PeerRequest, signal: AbortSignal): AsyncIterable<PeerEvent>;
  /** Asks the peer to cancel one of its tasks that nobody watches: best effort, for seconds at most. Never throws. */
  cancel(scope: Scope, task: AskedTask): Promise<void>;
}

/** A task that a peer was asked for: by its id, or by the message that asked as long as the id is not known. */
export type AskedTask =
  { readonly taskId: string } | { readonly contextId: string; readonly messageId: string };

export interface PeerRequest {
  readonly scope: Scope;
  /** The user role message for the peer; its id is the idempotency key. */
  readonly message: Message;
  readonly contextId: string;
  readonly parentTaskId: string;
  readonly grant: Grant;
  /** The peer's task to continue (an answer to its question) or to re-attach to. */
  readonly taskId?: string;
  /** True when `message` answers a question of that task; else the task is only watched again. */
  readonly isAnswer?: boolean;
  /** An earlier process may have sent `message` already: it is not sent to a peer that would do it twice. */
  readonly isRepeat?: boolean;
}

export type PeerEvent =
  | { readonly type: 'task'; readonly taskId: string }
  | { readonly type: 'activity'; readonly author: string; readonly activity: Activity }
  | {
      readonly type: 'text-delta';
      readonly author: string;
      readonly artifactId: string;
      readonly text: string;
      readonly replace: boolean;
    }
  /** A file or data artifact; whole, not in pieces. */
  | { readonly type: 'artifact'; readonly author: string; readonly artifact: Artifact }
  | {
      readonly type: 'end';
      readonly state: Exclude<TaskState, 'submitted' | 'working'>;
      /** The answer's text when completed, else the reason or question. */
      readonly text: string;
      readonly author: string;
      readonly questions: readonly Question[];
      readonly usage: Usage;
      /** Whether what it says may stem from text of outside. True of every agent of another server. */
      readonly fromOutside: boolean;
    };

/** The peers there are right now. Agents ask for the list at each turn, so peers may come and go. */
export interface PeerDirectory {
  list(): readonly Peer[];
  /** Also one that has left: what was begun with it may go on, or be called off. */
  get(name: string): Peer | undefined;
  /**
   * The same for one that may still come up, as when all nodes are started again at once. Undefined when nobody of
   * that name is expected, when it does not come in time, or when `signal` aborts.
   */
  wait(name: string, signal: AbortSignal): Promise<Peer | undefined>;
}

/** How an agent may be named: it is part of its URL and of the delegation function's enum. */
export const AGENT_NAME = /^[a-z][a-z0-9-]{0,63}$/;

/** One agent of the roster, as data: the registry is a list of these, shipped or from the config. */
export interface AgentSpec {
  readonly name: string;
  /** What it is for, in one sentence; the words of its capabilities are added from its tools. */
  readonly description: string;
  /** What it does, its input, its output, its constraints, and how it reports. */
  readonly instruction: string;
  /** It owns each tool whose name begins with one of these; the first spec in the list that matches wins. */
  readonly prefixes: readonly string[];
  /** Exists even without a tool. */
  readonly alwaysInclude: boolean;
  /** Whether it also gets the tools that no prefix matches. At most one spec of a roster. */
  readonly takesUnmatched: boolean;
}

/** In the order in which prefixes are matched (requirement P1). */
export type Roster = readonly AgentSpec[];

export const ORCHESTRATOR_NAME = 'lango-orchestrator';
export const FLAT_AGENT_NAME = 'lango-agent';

/** The `rootAgentName` of requirement A3. */
export function rootAgentName(multiAgent: boolean): string {
  return multiAgent ? ORCHESTRATOR_NAME : FLAT_AGENT_NAME;
}

/** What bounds one run. Code enforces each; the instruction only mentions them. */
export interface AgentLimits {
  /** Rounds of delegation an orchestrator may make in one task; several at once are one round. */
  readonly delegationRounds: number;
  /** Delegations at once in one round. */
  readonly fanOut: number;
  /** How many delegations may stand above each other. */
  readonly depth: number;
  /** Model answers in one task. */
  readonly turns: number;
  readonly toolCalls: number;
  /** Input plus output tokens of one task and all below it. */
  readonly tokens: number;
  /** Wall-clock time of one task, questions to a person not counted. */
  readonly seconds: number;
  /** How long a call waits for a person to allow it. */
  readonly approvalSeconds: number;
  /** The same tool with equal arguments more often than this is refused. */
  readonly repeats: number;
  /** Tool output handed to a model, in bytes. */
  readonly toolOutputBytes: number;
  /** One model answer, in tokens. */
  readonly answerTokens: number;
  /** Earlier conversation handed to a model, in (estimated) tokens. */
  readonly historyTokens: number;
}

/** Which tool calls wait for a person: those marked dangerous, all, none, or the tools named. */
export type ApprovalPolicy = 'dangerous' | 'all' | 'none' | readonly string[];

/** The longest that a timer can wait: it holds 31 bits of milliseconds, and fires at once for more. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
