import { defined, type Json } from '../core/json.js';
import { LangoError } from '../core/errors.js';
import { isPart } from '../core/message.js';
import type { RecordedStep, Run } from '../core/run.js';
import type { BodyOf, EffectClass } from '../core/task.js';
import { scrubData } from '../scrub/data.js';
import { cutText } from '../core/text.js';
import type { Tool, ToolContext, ToolOutput } from '../core/tool.js';
import { intentOf, refuse, resultOf, typedFunction } from './agent-function.js';
import type { AgentFunction, CallOutcome } from './agent-function.js';
import { askPerson, questionHash, withinReplyTime } from './asking.js';
import { isFile } from './attachments.js';
import { approvalOutcome } from './tool-permission.js';
import { failureText, questionOf, quotedReason, withinTimeout } from './tool-work.js';
import type { Input, ToolRules, Work } from './tool-work.js';

/** Makes a tool callable by a model: checks grant, arguments and approval; enforces time, effect class and output size. */
export function toolFunction(tool: Tool, rules: ToolRules): AgentFunction {
  const granted = typedFunction(tool, async (call, input) => {
    const work: Work = { call, tool, input, rules };
    return (await approvalOutcome(work)) ?? performSteps(work);
  });
  return {
    ...granted,
    async call(call) {
      const allowed = call.run.grant.tools;
      if (!allowed || allowed.includes(tool.name)) return granted.call(call);
      const others = allowed.join(', ') || 'no tool';
      return refuse(call, `this task may not use ${tool.name}; it may use: ${others}`);
    },
  };
}

/** The end of a step: the outcome of the call, or its questions to a person. */
type StepOutcome = CallOutcome | { readonly type: 'asks'; readonly asks: NonNullable<ToolOutput['asks']> };

/** Performs the call. When the tool asks a person, the run waits; the replies begin the next step: "t2.c0.a1", … */
async function performSteps(work: Work): Promise<CallOutcome> {
  const { run, step: first, key } = work.call;
  let current = work;
  let step = first;
  for (let number = 1; ; number += 1) {
    const last = lastAttempt(run, step);
    const outcome = last ? await resumeCall(current, last) : await perform(current, step);
    if (outcome.type !== 'asks') return outcome;
    const { questions, state } = outcome.asks;
    const verdicts = questions.map((text, index) => {
      const hash = questionHash(key, `${step} asks ${index}`);
      const question = { hash, kind: 'input', text, author: run.task.agent } as const;
      return askPerson(withinReplyTime(question, work.rules.limits), run, step);
    });
    const open = verdicts.flatMap((one) => (one.decision === 'open' ? one.outcome.questions : []));
    if (open.length > 0) return { type: 'waiting', state: 'input-required', questions: open };
    const replies = verdicts.map((one) =>
      one.decision === 'approve' || one.decision === 'deny' ? one : undefined,
    );
    current = { ...work, replied: { replies, state } };
    step = `${first}.a${number}`;
  }
}

/** Continues a call that an earlier attempt began. The effect class decides what happens when its outcome is unknown. */
async function resumeCall(work: Work, last: Attempt): Promise<StepOutcome> {
  const { call, tool } = work;
  const { recorded, step } = last;
  if (recorded.result?.type === 'tool-result') return endOf(recorded.result);
  switch (effectOf(work)) {
    case 'pure':
    case 'keyed':
      return execute(work, step);
    case 'queryable':
      return execute(work, step, tool.settle?.bind(tool));
    case 'unsafe': {
      const question = questionOf(call, work.rules.limits, {
        hash: questionHash(call.key, step),
        kind: 'outcome-unknown',
        text: `${tool.name} was interrupted and may or may not have taken effect. Run it again?`,
      });
      const verdict = askPerson(question, call.run, step);
      if (verdict.decision === 'open') return verdict.outcome;
      if (verdict.decision === 'approve') return perform(work, last.next);
      const why = NOT_REPEATED[verdict.decision];
      const reason = verdict.decision === 'deny' ? quotedReason(verdict.text) : '';
      const content = `the call was interrupted; its outcome is unknown and ${why}${reason}`;
      return finish(work, step, { content, isError: true });
    }
  }
}

function effectOf({ tool, input }: Work): EffectClass {
  return tool.effectOf?.(input) ?? tool.effect;
}

const NOT_REPEATED = {
  deny: 'a person does not want it repeated',
  refused: 'too many questions are open to ask whether to repeat it',
  expired: 'nobody decided in time whether to repeat it',
} as const;

/** Records the intent, performs the effect, records the result. */
async function perform(work: Work, step: string): Promise<StepOutcome> {
  await work.call.run.append(intentOf(work.call, step, effectOf(work)));
  return execute(work, step);
}

type Settle = (input: Input, context: ToolContext) => Promise<ToolOutput | undefined>;

async function execute(given: Work, step: string, settle?: Settle): Promise<StepOutcome> {
  const { promise: scrubbed, resolve } = Promise.withResolvers<void>();
  const work = { ...given, scrubbed };
  const { tool, input } = work;
  const use = async (context: ToolContext) =>
    outputOf((await settle?.(input, context)) ?? (await tool.execute(input, context)));
  try {
    const output = await withinTimeout(work, use).catch((error: unknown) => ({
      content: failureText(work, error),
      isError: true,
    }));
    return await finish(work, step, output);
  } finally {
    resolve();
  }
}

async function finish({ call, tool, rules }: Work, step: string, given: ToolOutput): Promise<StepOutcome> {
  // Scrubs before it cuts, because half of a secret's value would not be found.
  const output = scrubData(given, call.run.scrubber);
  const files = output.files ?? [];
  files.forEach((file, index) => {
    const artifact = { id: `${step}.f${index}`, ...defined({ name: file.filename }), parts: [file] };
    call.run.emit({ type: 'artifact', artifact, append: false, lastChunk: true });
  });
  const advice = 'ask for less at once, or in parts, to read the rest';
  const text = call.run.scrubber.text(readable(output.content));
  const content = cutText(text, rules.limits.toolOutputBytes, advice).text;
  const images = files.filter((file) => isFile(file) && file.mediaType?.startsWith('image/'));
  const result = {
    ...resultOf(call, content, output.isError ?? false),
    ...(images.length > 0 && { images }),
  };
  const body: BodyOf<'tool-result'> = {
    ...{ type: 'tool-result', step, result },
    ...((tool.bringsOutside || output.fromOutside) && { fromOutside: true }),
    ...(output.asks && { asks: output.asks }),
  };
  await call.run.append(body);
  return endOf(body);
}

function endOf({ result, asks }: BodyOf<'tool-result'>): StepOutcome {
  return asks ? { type: 'asks', asks } : { type: 'result', result };
}

interface Attempt {
  readonly step: string;
  readonly recorded: RecordedStep;
  /** The step of the next attempt. */
  readonly next: string;
}

/** Finds the last attempt of a call. Each repetition that a person allowed has a step of its own: "t2.c0.r1", … */
function lastAttempt(run: Run, first: string): Attempt | undefined {
  let last: Attempt | undefined;
  for (let number = 0; ; number += 1) {
    const step = number === 0 ? first : `${first}.r${number}`;
    const recorded = run.recorded(step);
    if (!recorded) return last;
    last = { step, recorded, next: `${first}.r${number + 1}` };
  }
}

/** Checks the output of a tool, which may be a program's own code. Throws the error that the model reads. */
function outputOf(given: ToolOutput): ToolOutput {
  const files = given?.files ?? [];
  const areParts = Array.isArray(files) && files.every(isPart);
  const areTexts = given?.asks?.questions.every((text) => typeof text === 'string') ?? true;
  if (areParts && areTexts && typeof readable(given?.content) === 'string') return given;
  const form = 'a tool returns an object with content and, optionally, files that are message parts';
  throw new LangoError('tool', `its output is not valid: ${form}`);
}

function readable(content: Json): string {
  return typeof content === 'string' ? content : JSON.stringify(content);
}
