import { z } from 'zod';
import { keyOf, type AgentFunction, type Call, type CallOutcome } from '../agents/agent-function.js';
import { CONTROL_NAMES } from '../agents/control-functions.js';
import { toolFunction } from '../agents/tool-function.js';
import { TRANSFER_NAME } from '../agents/transfer.js';
import type { EventBody, Question, TaskEvent } from '../core/task.js';
import { defineTool, type Tool, type ToolOutput } from '../core/tool.js';
import { rootOf, type Recording } from './passes.js';

type ToolCall = Extract<EventBody, { type: 'tool-call' }>;
type ToolResult = Extract<EventBody, { type: 'tool-result' }>;

/** Results were cut to their limit when they were recorded. */
const NO_LIMIT = 2 ** 31 - 1;
const ANY_ARGUMENTS = { type: 'object', properties: {}, additionalProperties: true } as const;
/** The number of answers in a row with refused calls only that end a run. */
const REFUSED_TURNS = 4;

/**
 * The functions of a recorded task, in place of its tools: each call gets the recorded result. Arguments, danger and effect
 * class of a call are as they were recorded; asking a person, keys, repeats and limits are the work of the loop as usual.
 */
export class RecordedFunctions {
  readonly #options: Recording;
  readonly #calls: ReadonlyMap<string, readonly ToolCall[]>;
  readonly #questions: ReadonlyMap<string, readonly Question[]>;

  constructor(options: Recording) {
    this.#options = options;
    const bodies = options.events.map(({ body }) => body);
    const calls = bodies.filter((body) => body.type === 'tool-call');
    const asked = bodies.filter((body) => body.type === 'question');
    this.#calls = Map.groupBy(calls, ({ step }) => rootOf(step));
    const questions = [...Map.groupBy(asked, ({ step }) => rootOf(step))];
    this.#questions = new Map(questions.map(([step, all]) => [step, all.map(({ question }) => question)]));
  }

  /**
   * The functions of an agent with the recorded results, and one for each further name that was called. Control functions
   * work as usual. So does a delegation, unless it was refused because of agents or rules of that time: it is refused again.
   */
  inPlaceOf(own: readonly AgentFunction[]): readonly AgentFunction[] {
    const calls = [...this.#calls.values()].flat();
    const questions = [...this.#questions.values()].flat();
    const names = new Set([...calls, ...questions].flatMap(({ tool }) => tool ?? []));
    for (const { name } of own) names.delete(name);
    const replaced = own.map((one): AgentFunction => {
      if (CONTROL_NAMES.includes(one.name)) return one;
      const isMade = (call: Call) => one.name === TRANSFER_NAME && !this.#calls.has(call.step);
      return { ...one, call: (call) => (isMade(call) ? one.call(call) : this.#call(call)) };
    });
    const call: AgentFunction['call'] = (given) => this.#call(given);
    return [...replaced, ...[...names].map((name) => ({ name, spec: undefined, first: false, call }))];
  }

  async #call(call: Call): Promise<CallOutcome> {
    const [intent] = this.#calls.get(call.step) ?? [];
    const questions = this.#questions.get(call.step) ?? [];
    const given = intent?.arguments ?? questions.find(({ tool }) => tool === call.name)?.arguments;
    const made = { ...call, arguments: given ?? call.arguments };
    const tool = this.#toolFor({ ...made, key: keyOf(made) });
    const limits = { ...this.#options.limits, toolOutputBytes: NO_LIMIT };
    const outcome = await toolFunction(tool, { approval: 'dangerous', limits }).call({
      ...made,
      key: keyOf(made),
    });
    return outcome.type === 'result' && this.#isRefusal(call.step, outcome)
      ? { ...outcome, refused: true }
      : outcome;
  }

  #toolFor({ step, name, key }: Call): Tool {
    const questions = this.#questions.get(step) ?? [];
    const approval = questions.find(({ kind }) => kind === 'approval');
    const isUnsafe = questions.some(({ kind }) => kind === 'outcome-unknown');
    const effect = isUnsafe ? 'unsafe' : (this.#calls.get(step)?.[0]?.effect ?? 'pure');
    const description = approval && approval.hash !== key ? describedIn(approval) : undefined;
    const results = this.#resultsOf(step);
    return defineTool({
      ...{ name, description: '', schema: z.object({}), parameters: ANY_ARGUMENTS, effect },
      danger: approval ? 'dangerous' : 'safe',
      timeoutMs: NO_LIMIT,
      ...(description !== undefined && { describe: () => description }),
      execute: async () => results.shift() ?? this.#options.blocked(),
    });
  }

  /** The results of a call in this run: more than one if it asked a person, or was repeated. */
  #resultsOf(step: string): ToolOutput[] {
    const { events } = this.#options.pass;
    const results = events.map(({ body }) => body).filter((body) => body.type === 'tool-result');
    return results.filter((body) => rootOf(body.step) === step).map((body) => outputOf(body, events));
  }

  /** The record does not say which calls were refused. It matters only where refusals ended the run. */
  #isRefusal(step: string, { result }: Extract<CallOutcome, { type: 'result' }>): boolean {
    const { end, events } = this.#options.pass;
    if (end?.reason !== 'limit-refusals' || !result.isError) return false;
    const turns = events.flatMap(({ body }) => (body.type === 'turn-end' ? [body.step] : []));
    return turns.slice(-REFUSED_TURNS).some((turn) => step.startsWith(`${turn}.`));
  }
}

function outputOf({ step, result, fromOutside, asks }: ToolResult, events: readonly TaskEvent[]): ToolOutput {
  const files = events.flatMap(({ body }) => {
    if (body.type !== 'artifact' || !body.artifact.id.startsWith(`${step}.f`)) return [];
    return body.artifact.parts.slice(0, 1);
  });
  return {
    ...{ content: result.content, isError: result.isError, files },
    ...(fromOutside && { fromOutside }),
    ...(asks && { asks }),
  };
}

/** The words of a tool about its call: "May operator DO THIS?" */
function describedIn({ author, text }: Question): string {
  return text.slice(`May ${author} `.length, -1);
}
