import { LangoError, errorText } from '../core/errors.js';
import type { Json } from '../core/json.js';
import type { AgentLimits, ApprovalPolicy } from '../core/limits.js';
import type { Part } from '../core/message.js';
import type { RecordedStep, Run } from '../core/run.js';
import { scrubData } from '../core/scrubber.js';
import type { SecretGuard } from '../core/secrets.js';
import { referencedSecrets } from '../core/secret-reference.js';
import { noSecrets } from '../core/secrets.js';
import type { Question } from '../core/task.js';
import { cutText } from '../core/text.js';
import type { Tool, ToolContext, ToolOutput } from '../core/tool.js';
import type { AgentFunction, Call, CallOutcome } from './agent-function.js';
import { intentOf, refuse, resultOf } from './agent-function.js';
import { argumentReader } from './arguments.js';
import { askPerson, questionHash, withinAnswerTime } from './asking.js';
import { withinTime } from './time-limit.js';

export interface ToolRules {
  readonly approval: ApprovalPolicy;
  readonly limits: Pick<AgentLimits, 'toolOutputBytes' | 'approvalSeconds'>;
  /** Default: there are no secrets to use. */
  readonly secrets?: SecretGuard;
}

type Input = Readonly<Record<string, unknown>>;

/** One tool call on its way: the tool, its checked input, and how it may run. */
interface Work {
  readonly call: Call;
  readonly tool: Tool;
  readonly input: Input;
  readonly rules: ToolRules;
}

/** Makes a tool callable by a model: grant, validation, approval, time, effect class and output size. */
export function toolFunction(tool: Tool, rules: ToolRules): AgentFunction {
  const reader = argumentReader(tool.schema);
  const { name, description, examples } = tool;
  return {
    name,
    spec: {
      name,
      description,
      examples,
      get parameters() {
        return reader.parameters;
      },
    },
    first: false,
    async call(call) {
      const allowed = call.run.grant.tools;
      if (allowed && !allowed.includes(name)) {
        return refuse(call, `this task may not use ${name}; it may use: ${allowed.join(', ') || 'no tool'}`);
      }
      const parsed = reader.parse(call.arguments);
      if ('problem' in parsed) return refuse(call, `invalid arguments: ${parsed.problem}`);
      const work: Work = { call, tool, input: parsed.input, rules };
      const held = await heldBack(work);
      if (held) return held;
      const last = lastAttempt(call.run, call.step);
      return last ? takeUp(work, last) : perform(work, call.step);
    },
  };
}

/** What stands in the way of a call that a person has to allow first; undefined when nothing does. */
async function heldBack(work: Work): Promise<CallOutcome | undefined> {
  const { call, tool } = work;
  if (!needsApproval(work)) return undefined;
  const words = tool.describe?.(work.input);
  const question = questionOf(work, {
    hash: words === undefined ? call.key : questionHash(call.key, words),
    kind: 'approval',
    text: `May ${call.run.task.agent} ${words ?? `run ${tool.name} with these arguments`}?`,
  });
  if (!call.run.questions.has(question.hash)) {
    const obstacle = await obstacleTo(work);
    if (obstacle !== undefined) return refuse(call, obstacle);
  }
  const verdict = askPerson(question, call.run, call.step);
  switch (verdict.decision) {
    case 'open':
      return verdict.outcome;
    case 'approve':
      return undefined;
    case 'deny':
      return refuse(call, `a person refused this call${because(verdict.text)}; do not try it again`);
    case 'expired':
      return refuse(call, 'nobody allowed this call in time, so it was not made; do not try it again');
  }
}

/** Why the call cannot be made whatever a person says; undefined when nothing is known to stand against it. */
async function obstacleTo(work: Work): Promise<string | undefined> {
  const { tool, input } = work;
  try {
    await inItsTime(work, async (context) => tool.check?.(input, context));
    return undefined;
  } catch (error) {
    return failureText(work, error);
  }
}

/** A call that began in an earlier run. Its effect class says what may happen when the outcome is not known. */
async function takeUp(work: Work, last: Attempt): Promise<CallOutcome> {
  const { call, tool } = work;
  const { recorded, step } = last;
  if (recorded.result?.type === 'tool-result') return { type: 'result', result: recorded.result.result };
  switch (tool.effect) {
    case 'pure':
    case 'keyed':
      return execute(work, step);
    case 'queryable':
      return execute(work, step, tool.settle?.bind(tool));
    case 'unsafe': {
      const question = questionOf(work, {
        hash: questionHash(call.key, step),
        kind: 'outcome-unknown',
        text: `${tool.name} was interrupted and may or may not have taken effect. Run it again?`,
      });
      const verdict = askPerson(question, call.run, step);
      switch (verdict.decision) {
        case 'open':
          return verdict.outcome;
        case 'approve':
          return perform(work, last.next);
        case 'deny':
          return finish(
            work,
            step,
            unknownOutcome(`a person does not want it repeated${because(verdict.text)}`),
          );
        case 'expired':
          return finish(work, step, unknownOutcome('nobody said in time whether to repeat it'));
      }
    }
  }
}

function unknownOutcome(why: string): ToolOutput {
  return { content: `the call was interrupted; its outcome is unknown and ${why}`, isError: true };
}

/** Intent, effect, result. */
async function perform(work: Work, step: string): Promise<CallOutcome> {
  await work.call.run.append(intentOf(work.call, step, work.tool.effect));
  return execute(work, step);
}

async function execute(
  work: Work,
  step: string,
  settle?: (input: Input, context: ToolContext) => Promise<ToolOutput | undefined>,
): Promise<CallOutcome> {
  const { tool, input } = work;
  let output: ToolOutput;
  try {
    output = await inItsTime(
      work,
      async (context) => (await settle?.(input, context)) ?? (await tool.execute(input, context)),
    );
  } catch (error) {
    output = { content: failureText(work, error), isError: true };
  }
  return finish(work, step, output);
}

function inItsTime<Result>(work: Work, use: (context: ToolContext) => Promise<Result>): Promise<Result> {
  const { call, tool, input } = work;
  return withinTime((signal) => use(contextOf(work, signal)), {
    signal: call.run.signal,
    timeoutMs: tool.timeoutMs(input),
  });
}

/** What a model reads of a failure; throws when the run itself was aborted. */
function failureText({ call: { run }, tool }: Work, error: unknown): string {
  run.signal.throwIfAborted();
  if (!(error instanceof LangoError)) {
    run.logger.warn('a tool failed', { tool: tool.name, error: errorText(error) });
  }
  return `${tool.name} failed: ${advised(error)}`;
}

async function finish({ call, tool, rules }: Work, step: string, given: ToolOutput): Promise<CallOutcome> {
  // Before anything is cut: half of a value would not be found.
  const output = scrubData(given, call.run.scrubber);
  const files = output.files ?? [];
  files.forEach((file, index) => {
    const name = file.filename === undefined ? {} : { name: file.filename };
    const artifact = { id: `${step}.f${index}`, ...name, parts: [file] };
    call.run.emit({ type: 'artifact', artifact, append: false });
  });
  const advice = 'ask for less at once, or in parts, to read the rest';
  const text = call.run.scrubber.text(readable(output.content));
  const content = cutText(text, rules.limits.toolOutputBytes, advice).text;
  const images = files.filter(isImage);
  const result = {
    ...resultOf(call, content, output.isError ?? false),
    ...(images.length === 0 ? {} : { images }),
  };
  const mark = tool.bringsOutside || output.fromOutside ? { fromOutside: true } : {};
  await call.run.append({ type: 'tool-result', step, result, ...mark });
  return { type: 'result', result };
}

interface Attempt {
  readonly step: string;
  readonly recorded: RecordedStep;
  /** The step of the attempt after this one. */
  readonly next: string;
}

/** Each time a person has an unsafe call run again, it gets a step of its own: "t2.c0", "t2.c0.r1", … */
function lastAttempt(run: Run, first: string): Attempt | undefined {
  let last: Attempt | undefined;
  for (let number = 0; ; number += 1) {
    const step = number === 0 ? first : `${first}.r${number}`;
    const recorded = run.recorded(step);
    if (!recorded) return last;
    last = { step, recorded, next: `${first}.r${number + 1}` };
  }
}

function needsApproval({ tool, input, rules: { approval } }: Work): boolean {
  switch (approval) {
    case 'none':
      return false;
    case 'all':
      return true;
    case 'dangerous':
      return tool.danger(input) === 'dangerous';
    default:
      return approval.includes(tool.name);
  }
}

function questionOf({ call, rules }: Work, about: Pick<Question, 'hash' | 'kind' | 'text'>): Question {
  const question = { ...about, author: call.run.task.agent, tool: call.name, arguments: call.arguments };
  return withinAnswerTime(question, rules.limits);
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

function because(text: string | undefined): string {
  return text ? ` ("${text}")` : '';
}

function advised(error: unknown): string {
  const hint = error instanceof LangoError && error.hint !== undefined ? ` (${error.hint})` : '';
  return `${errorText(error)}${hint}`;
}

function readable(content: Json): string {
  return typeof content === 'string' ? content : JSON.stringify(content);
}

function isImage(part: Part): boolean {
  return part.kind === 'file' && 'bytes' in part && (part.mediaType?.startsWith('image/') ?? false);
}
