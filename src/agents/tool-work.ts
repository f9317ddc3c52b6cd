import { LangoError, errorText } from '../core/errors.js';
import type { AgentLimits, ApprovalPolicy } from '../core/limits.js';
import type { SecretGuard } from '../core/secrets.js';
import { referencedSecrets } from '../core/secret-reference.js';
import { noSecrets } from '../core/secrets.js';
import type { Question } from '../core/task.js';
import type { Tool, ToolContext } from '../core/tool.js';
import type { Call } from './agent-function.js';
import { withinAnswerTime } from './asking.js';
import { withinTime } from './time-limit.js';

export interface ToolRules {
  readonly approval: ApprovalPolicy;
  readonly limits: Pick<AgentLimits, 'toolOutputBytes' | 'approvalSeconds'>;
  /** Default: there are no secrets to use. */
  readonly secrets?: SecretGuard;
}

export type Input = Readonly<Record<string, unknown>>;

/** One tool call on its way: the tool, its checked input, and how it may run. */
export interface Work {
  readonly call: Call;
  readonly tool: Tool;
  readonly input: Input;
  readonly rules: ToolRules;
}

/** Lets the tool work within the time of the call. */
export function inItsTime<Result>(
  work: Work,
  use: (context: ToolContext) => Promise<Result>,
): Promise<Result> {
  const { call, tool, input } = work;
  return withinTime((signal) => use(contextOf(work, signal)), {
    signal: call.run.signal,
    timeoutMs: tool.timeoutMs(input),
  });
}

/** What a model reads of a failure; throws when the run itself was aborted. */
export function failureText({ call: { run }, tool }: Work, error: unknown): string {
  run.signal.throwIfAborted();
  if (!(error instanceof LangoError)) {
    run.logger.warn('a tool failed', { tool: tool.name, error: errorText(error) });
  }
  return `${tool.name} failed: ${advised(error)}`;
}

/** A question to a person about the call. */
export function questionOf({ call, rules }: Work, about: Pick<Question, 'hash' | 'kind' | 'text'>): Question {
  const question = { ...about, author: call.run.task.agent, tool: call.name, arguments: call.arguments };
  return withinAnswerTime(question, rules.limits);
}

/** What a person said to it, to be told to the model. */
export function because(text: string | undefined): string {
  return text ? ` ("${text}")` : '';
}

function contextOf({ call, tool, rules }: Work, signal: AbortSignal): ToolContext {
  const { run, key, name } = call;
  const { id: taskId, contextId, tenant, owner } = run.task;
  const { secrets = noSecrets } = rules;
  return {
    ...{ signal, logger: run.logger.child({ tool: name }), key, tenant, owner, taskId, contextId },
    hasReadOutside: run.hasReadOutside(),
    async resolveSecrets(text, host) {
      if (referencedSecrets(text).length === 0) return text;
      const place = tool.secretPlace;
      if (!place) throw new LangoError('forbidden', `${name} takes no secrets.`);
      const use = { tool: name, place, ...(host === undefined ? {} : { host }) };
      return secrets.resolve({ tenant, owner }, text, use);
    },
  };
}

function advised(error: unknown): string {
  const hint = error instanceof LangoError && error.hint !== undefined ? ` (${error.hint})` : '';
  return `${errorText(error)}${hint}`;
}
