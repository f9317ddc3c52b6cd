import type { z } from 'zod';
import type { BodyOf, EffectClass, Question } from '../core/task.js';
import type { JsonObject } from '../core/json.js';
import type { FunctionResult, FunctionSpec } from '../core/model.js';
import type { Run, RunEnd } from '../core/run.js';
import { hashJson } from '../core/canonical-json.js';
import { argumentReader, schemaReader, type ArgumentReader } from './arguments.js';

/** A function that a model may call: a tool, the delegation, or a signal to the loop. */
export interface AgentFunction {
  readonly name: string;
  /** Undefined while the function is not offered to the model. A call to it is then refused with the reason. */
  readonly spec: FunctionSpec | undefined;
  /** A call to this function runs before the other calls of its turn. When it ends the run, the others do not run. */
  readonly first: boolean;
  /** Performs the call, but no recorded step again. A failure is a result; rejects after an abort or a failed write only. */
  call(call: Call): Promise<CallOutcome>;
}

export interface Call {
  readonly run: Run;
  /** The position of the call in the run, the same on every attempt: "t2.c0". */
  readonly step: string;
  /** The id that the model vendor gave the call. */
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** See `keyOf`. */
  readonly key: string;
  /** Whether the model's turn holds no other call. */
  readonly alone: boolean;
}

/** `refused` when the call could not be made, and the result says why. */
type ResultOutcome = Readonly<{ type: 'result'; result: FunctionResult; refused?: boolean }>;

export type CallOutcome =
  | ResultOutcome
  /** The user got the result as the answer (requirement D6); `author` is the agent that wrote it. */
  | { readonly type: 'answered'; readonly result: FunctionResult; readonly author: string }
  /** The run waits for a person. */
  | {
      readonly type: 'waiting';
      readonly state: 'input-required' | 'auth-required';
      readonly questions: readonly Question[];
    }
  | { readonly type: 'end'; readonly end: RunEnd };

/** Additions of models to names of functions, from the formats that they learned: "functions.x:0", "default_api.x". */
const BEFORE_NAME = /^.*[./:](?=[^\d./:])/s;
const AFTER_NAME = /(\s*<\|.*|[:#]\d+|\(\))$/s;

/** Returns the function that a model means by a name: the one of this name, or the only one that it can be read as. */
export function meantFunction(name: string, functions: readonly AgentFunction[]): AgentFunction | undefined {
  const exact = functions.find((one) => one.name === name);
  if (exact) return exact;
  const plain = (text: string) =>
    text
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '_')
      .replace(/^_|_$/g, '');
  const bare = name.trim().replace(AFTER_NAME, '');
  const readings = new Set([plain(bare), plain(bare.replace(BEFORE_NAME, ''))]);
  const meant = functions.filter((one) => readings.has(plain(one.name)));
  return meant.length === 1 ? meant[0] : undefined;
}

/** The step of the turn that holds the step of a call: "t2" for "t2.c0". */
export function turnStep(step: string): string {
  return step.slice(0, step.indexOf('.'));
}

export function resultOf(call: Call, content: string, isError: boolean): FunctionResult {
  return { id: call.id, name: call.name, content, isError };
}

export function intentOf(
  { id: callId, name: tool, key, arguments: given }: Pick<Call, 'id' | 'name' | 'arguments' | 'key'>,
  step: string,
  effect: EffectClass,
): BodyOf<'tool-call'> {
  return { type: 'tool-call', step, callId, tool, arguments: given, effect, key };
}

/** Gives a call its result without any effect. The journal records call and result, so a resumed run sees the same. */
export async function giveResult(
  call: Call,
  result: FunctionResult,
  fromOutside = false,
): Promise<ResultOutcome> {
  const { run, step } = call;
  if (!run.recorded(step)) run.emit(intentOf(call, step, 'pure'));
  await run.append({ type: 'tool-result', step, result, ...(fromOutside && { fromOutside }) });
  return { type: 'result', result };
}

/** Gives a call a text as its result, without any effect. */
export function reply(call: Call, content: string, isError: boolean): Promise<ResultOutcome> {
  return giveResult(call, resultOf(call, content, isError));
}

/** Gives a call an error as its result that tells the model the reason. */
export async function refuse(call: Call, reason: string): Promise<CallOutcome> {
  return { ...(await reply(call, reason, true)), refused: true };
}

interface TypedFunction<Schema extends z.ZodObject> extends Omit<FunctionSpec, 'parameters'> {
  readonly schema: Schema;
  /** JSON Schema in place of `schema`. */
  readonly parameters?: JsonObject | undefined;
  readonly first?: boolean;
  /** Whether the model gets the parameters only when it asks for them, which saves tokens in each request. */
  readonly isRare?: boolean | undefined;
}

/** The schema that a model gets for a rare function, which says its real parameters when it is called without arguments. */
const ANY_PARAMETERS: JsonObject = { type: 'object', properties: {}, additionalProperties: true };

/** Makes a function that passes a call to `use` when its arguments match the schema, and refuses it otherwise. */
export function typedFunction<Schema extends z.ZodObject>(
  { schema, parameters, first = false, isRare = false, name, description }: TypedFunction<Schema>,
  use: (call: Call, input: z.infer<Schema>) => Promise<CallOutcome>,
): AgentFunction {
  const reader = parameters
    ? (schemaReader(parameters) as ArgumentReader<z.infer<Schema>>)
    : argumentReader(schema);
  const perform = (call: Call) => withArguments(reader, call, use);
  if (isRare) {
    const [sentence = ''] = description.split(/(?<=\.) /);
    const hint = `${sentence} Call it without arguments first.`;
    const spec = { name, description: hint, parameters: ANY_PARAMETERS };
    const manual = () => `${description} Its arguments: ${JSON.stringify(reader.parameters)}`;
    const asksForManual = (call: Call) => Object.keys(call.arguments).length === 0;
    const call = (call: Call) => (asksForManual(call) ? reply(call, manual(), false) : perform(call));
    return { name, spec, first, call };
  }
  const spec = {
    ...{ name, description },
    get parameters() {
      return reader.parameters;
    },
  };
  return { name, spec, first, call: perform };
}

/**
 * Calls `use` with the call as it is made, whose arguments are read as the schema wants them, and with its checked input.
 * Refuses the call with what is wrong otherwise.
 */
export async function withArguments<T>(
  reader: ArgumentReader<T>,
  call: Call,
  use: (call: Call, input: T) => Promise<CallOutcome>,
): Promise<CallOutcome> {
  const parsed = reader.parse(call.arguments);
  if ('problem' in parsed) return refuse(call, `invalid arguments: ${parsed.problem}`);
  const { given, input } = parsed;
  if (given === call.arguments) return use(call, input);
  const made = { ...call, arguments: given };
  return use({ ...made, key: keyOf(made) }, input);
}

/** The key of a call: the hash of its task, its step, its name and the arguments that it is made with. */
export function keyOf({ run, step, name, arguments: given }: Omit<Call, 'key'>): string {
  return hashJson([run.task.id, step, name, given]);
}
