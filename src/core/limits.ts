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

export const DEFAULT_LIMITS: AgentLimits = {
  delegationRounds: 5,
  fanOut: 16,
  depth: 5,
  turns: 40,
  toolCalls: 100,
  tokens: 1_000_000,
  seconds: 900,
  approvalSeconds: 24 * 60 * 60,
  repeats: 3,
  toolOutputBytes: 64 * 1024,
  answerTokens: 8_192,
  historyTokens: 16_000,
};

/** Which tool calls wait for a person: those marked dangerous, all, none, or the tools named. */
export type ApprovalPolicy = 'dangerous' | 'all' | 'none' | readonly string[];

/** The longest that a timer can wait: it holds 31 bits of milliseconds, and fires at once for more. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
