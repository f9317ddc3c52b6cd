import type { z } from 'zod';
import type { EffectClass, Reply, Scope } from './task.js';
import type { Json, JsonObject } from './json.js';
import type { Logger } from './logger.js';
import type { Part } from './message.js';
import type { SecretPlace } from './secrets.js';

/** `dangerous` calls wait for a person under the default approval policy. */
type DangerLevel = 'safe' | 'moderate' | 'dangerous';

/**
 * A tool of an agent. The model sees the schema, and calls are validated by it; unknown keys are refused. The model reads
 * an error of `execute` as an error result, so an error names the argument, what is wrong and what would be right.
 */
export interface Tool<Schema extends z.ZodObject = z.ZodObject> {
  /** `[a-z][a-z0-9_]{0,63}`. The prefix decides which agent gets the tool (requirement P1). */
  readonly name: string;
  /** Written for a model. */
  readonly description: string;
  readonly schema: Schema;
  /** The JSON Schema of the arguments, of any draft, in place of `schema`: for arguments that others describe. */
  readonly parameters?: JsonObject;
  /** The class of a call that may do most. */
  readonly effect: EffectClass;
  /** The class of one call, where it depends on the arguments. Must not do I/O and must not throw. */
  effectOf?(input: z.infer<Schema>): EffectClass;
  /** May depend on the arguments; must not do I/O and must not throw. */
  danger(input: z.infer<Schema>): DangerLevel;
  /**
   * Describes a call to the person who approves it, with all that matters: "pay 0.50 USDC on Base to 0x… for tea". An
   * approval is bound to this text too. Default: the tool's name. Must not do I/O and must not throw.
   */
  describe?(input: z.infer<Schema>): string;
  /** The longest time of a call; the loop then aborts the signal. May depend on the arguments. */
  timeoutMs(input: z.infer<Schema>): number;
  /** The place that this tool sends values of secrets to, which their owner must permit. Default: it sends none. */
  readonly secretPlace?: SecretPlace;
  /** Needed rarely: the model reads one sentence of it, and the rest when it calls the tool without arguments. */
  readonly isRare?: boolean;
  /** All output is text from outside: from a page, a document, another agent. */
  readonly bringsOutside?: boolean;
  /** Resolves after the effect is whole, or rejects with nothing done. Honors `context.signal`. */
  execute(input: z.infer<Schema>, context: ToolContext): Promise<ToolOutput>;
  /** Rejects when the call cannot be made now, before a person is asked. Has no effect; `execute` checks again. */
  check?(input: z.infer<Schema>, context: ToolContext): Promise<void>;
  /** For `queryable` only: returns the outcome of the call with this key; undefined when it never happened. */
  settle?(input: z.infer<Schema>, context: ToolContext): Promise<ToolOutput | undefined>;
}

export interface ToolContext {
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** The idempotency key of this call: the same on every attempt. 64 hex digits. */
  readonly key: string;
  readonly tenant: string;
  readonly owner: string;
  readonly taskId: string;
  readonly contextId: string;
  /**
   * Replaces each `{{secret:NAME}}` in `text` with the value, for tools with a `secretPlace`. Call it at the last moment, and
   * never return the text. `host` is the receiver. Rejects with `not-found` or `forbidden`. In
   * `check` the text stays as it is: no value is read before a person approved the call.
   */
  resolveSecrets(text: string, host?: string): Promise<string>;
  /** Whether this task or its session has read text from outside: what the tool keeps may come from it. */
  readonly hasReadOutside: boolean;
  attachment?(name: string): Buffer; // Finds a file in the messages of the task. Throws `not-found`.
  progress?(text: string): void; // Reports the progress of the call to the person.
  /** A person's replies to the last questions of this call; undefined for a question without one in time. */
  readonly replied?: Readonly<{ replies: readonly (Omit<Reply, 'hash'> | undefined)[]; state: Json }>;
}

export interface ToolOutput {
  /** The model reads text as it is and other values as JSON, cut to the loop's size limit. */
  readonly content: Json;
  readonly isError?: boolean; // True for a failure that the model may work around.
  /** True when this output holds text from outside. */
  readonly fromOutside?: boolean;
  /** Files for the person (screenshots, documents): each becomes an artifact of the task. */
  readonly files?: readonly Part[];
  /** The call is not over: a person is asked, and `execute` runs again with the replies and the state. */
  readonly asks?: Readonly<{ questions: readonly string[]; state: Json }>;
}

type ByInput<Schema extends z.ZodObject, Value> = Value | ((input: z.infer<Schema>) => Value);

/** A tool as its author writes it. Only what differs from the defaults is given. */
export interface ToolDefinition<Schema extends z.ZodObject = z.ZodObject> extends Omit<
  Tool<Schema>,
  'effect' | 'danger' | 'timeoutMs'
> {
  /** Default: `unsafe`. A person decides about a call whose outcome is unknown after a crash. */
  readonly effect?: EffectClass;
  /** Default: `safe` for a `pure` tool, otherwise `dangerous`. */
  readonly danger?: ByInput<Schema, DangerLevel>;
  /** Default: one minute. */
  readonly timeoutMs?: ByInput<Schema, number>;
}

const DEFAULT_TIMEOUT_MS = 60_000;

/** Returns the tool with the defaults of everything that its definition leaves out. */
export function defineTool<Schema extends z.ZodObject>(definition: ToolDefinition<Schema>): Tool {
  const { effect = 'unsafe', timeoutMs = DEFAULT_TIMEOUT_MS } = definition;
  const { danger = effect === 'pure' ? 'safe' : 'dangerous' } = definition;
  return {
    ...definition,
    effect,
    danger: typeof danger === 'function' ? danger : () => danger,
    timeoutMs: typeof timeoutMs === 'function' ? timeoutMs : () => timeoutMs,
  } satisfies Tool<Schema>;
}

/** Tools that change while the server runs; some belong to one owner. */
export interface ToolSource {
  /** Names the prefix that the tools of this source share, also while it has no tools. */
  readonly kind: Pick<Tool, 'name'>;
  /** Reads the tools again, before each run of this owner. Never rejects. */
  refresh(scope: Scope | undefined): Promise<void>;
  /** Reads the tools of this owner for the first time. Never rejects. */
  prepare(scope: Scope): Promise<void>;
  /** Lists the tools of this owner, or without a scope those of everyone. An unchanged tool stays the same object. */
  list(scope: Scope | undefined): readonly Tool[];
}
