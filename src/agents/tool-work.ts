import { errorText, LangoError } from '../core/errors.js';
import { attachedFile } from './attachments.js';
import type { AgentLimits } from '../core/agent.js';
import { defined } from '../core/json.js';
import type { Logger } from '../core/logger.js';
import { referencedSecrets, noSecrets, type SecretGuard } from '../core/secrets.js';
import type { Question } from '../core/task.js';
import { abortable, Deadline } from '../core/time.js';
import type { Tool, ToolContext, ToolSource } from '../core/tool.js';
import type { Call } from './agent-function.js';
import { withinReplyTime } from './asking.js';

/** The tool calls that need a person's approval: dangerous ones, all, none, or those of the named tools. */
export type ApprovalPolicy = 'dangerous' | 'all' | 'none' | readonly string[];

/** Warns of unknown names in a policy: a misspelled one would silently leave a tool without its approval. */
export function warnOfUnknownTools(
  policy: ApprovalPolicy,
  { tools, sources }: { readonly tools: readonly Tool[]; readonly sources: readonly ToolSource[] },
  logger: Logger,
): void {
  if (typeof policy === 'string') return;
  const known = (name: string) =>
    tools.some((tool) => tool.name === name) || sources.some(({ kind }) => name.startsWith(kind.name));
  for (const name of policy.filter((one) => !known(one))) {
    logger.warn(`approval.policy names ${name}, but no tool here has that name: nobody is asked about it`);
  }
}

export interface ToolRules {
  readonly approval: ApprovalPolicy;
  readonly limits: Pick<AgentLimits, 'toolOutputBytes' | 'approvalSeconds'>;
  /** Default: no secrets. */
  readonly secrets?: SecretGuard;
}

export type Input = Readonly<Record<string, unknown>>;

/** One tool call: the tool, its checked input, and the rules for it. */
export interface Work {
  readonly call: Call;
  readonly tool: Tool;
  readonly input: Input;
  readonly rules: ToolRules;
  /** Whether the call is only checked: secrets are looked for, and not read. */
  readonly isCheck?: true;
  /** Settles once the result of the call is in the journal, without secrets. */
  readonly scrubbed?: Promise<unknown>;
  /** The replies of a person to the call. */
  readonly replied?: ToolContext['replied'];
}

/** The milliseconds that aborted work may take to stop before it is abandoned. */
const TOOL_STOP_GRACE_MS = 1_000;

/**
 * Calls `use` with a tool context that aborts with the run or at the time limit of the call. After the time limit it rejects
 * with `timeout`, also when `use` throws another error or ignores its signal.
 */
export async function withinTimeout<T>(work: Work, use: (context: ToolContext) => Promise<T>): Promise<T> {
  const { call, tool, input } = work;
  const timeoutMs = tool.timeoutMs(input);
  using deadline = new Deadline(call.run.signal).expect(timeoutMs, () => {
    const text = `it gave no result within ${timeoutMs / 1_000} s, and may have taken effect in part`;
    return new LangoError('timeout', text);
  });
  const { signal } = deadline;
  try {
    return await abortable(use(contextOf(work, signal)), signal, { graceMs: TOOL_STOP_GRACE_MS });
  } catch (error) {
    throw deadline.hasPassed ? signal.reason : error;
  }
}

/** Returns the text of a failure for the model. Throws when the run itself was aborted. */
export function failureText({ call: { run }, tool }: Work, error: unknown): string {
  run.signal.throwIfAborted();
  if (!(error instanceof LangoError))
    run.logger.warn('a tool failed', { tool: tool.name, error: errorText(error) });
  const hint = error instanceof LangoError && error.hint !== undefined ? ` (${error.hint})` : '';
  return `${tool.name} failed: ${errorText(error)}${hint}`;
}

/** Makes a question to a person about the call, with its exact arguments. */
export function questionOf(
  call: Call,
  limits: Pick<AgentLimits, 'approvalSeconds'>,
  about: Pick<Question, 'hash' | 'kind' | 'text'>,
): Question {
  const question = { ...about, author: call.run.task.agent, tool: call.name, arguments: call.arguments };
  return withinReplyTime(question, limits);
}

export function quotedReason(text: string | undefined): string {
  return text ? ` ("${text}")` : '';
}

function contextOf(
  { call, tool, rules, isCheck, scrubbed, replied }: Work,
  signal: AbortSignal,
): ToolContext {
  const { run, key, name } = call;
  const { id: taskId, contextId, tenant, owner } = run.task;
  const { secrets = noSecrets } = rules;
  return {
    ...{ signal, logger: run.logger.child({ tool: name }), key, tenant, owner, taskId, contextId },
    hasReadOutside: run.hasReadOutside(),
    ...(replied && { replied }),
    attachment: (name) => attachedFile(run, name),
    progress: (text) => run.emit({ type: 'activity', activity: { type: 'text', text: `${text}\n` } }),
    async resolveSecrets(text, host) {
      if (referencedSecrets(text).length === 0) return text;
      const place = tool.secretPlace;
      if (!place) throw new LangoError('forbidden', `${name} takes no secrets.`);
      const use = { tool: name, place, signal, ...defined({ host, scrubbed }) };
      if (!isCheck) return secrets.resolve({ tenant, owner }, text, use);
      await secrets.check({ tenant, owner }, text, use);
      return text;
    },
  };
}
