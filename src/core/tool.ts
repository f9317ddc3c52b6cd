import type { z } from 'zod';
import type { EffectClass, Scope } from './task.js';
import type { LangoError } from './errors.js';
import type { Json } from './json.js';
import type { Logger } from './logger.js';
import type { Remembering } from './memory.js';
import type { Part } from './message.js';
import type { OwnedKind } from './page.js';
import type { SecretPlace } from './secrets.js';

/** `dangerous` calls wait for a person under the default approval policy. */
type DangerLevel = 'safe' | 'moderate' | 'dangerous';

/**
 * Something an agent can do. The schema is the validation and what the model sees; unknown keys are
 * refused. Whatever `execute` throws becomes an error result that the model can read, so errors
 * name the argument, what was wrong and what would be right.
 */
export interface Tool<Schema extends z.ZodObject = z.ZodObject> {
  /** Its prefix decides which agent owns it (requirement P1). `[a-z][a-z0-9_]{0,63}`. */
  readonly name: string;
  /** Written for a model. */
  readonly description: string;
  readonly schema: Schema;
  readonly effect: EffectClass;
  /** May depend on the arguments; must not do I/O and must not throw. */
  danger(input: z.infer<Schema>): DangerLevel;
  /**
   * What a call does, for the person who is asked about it: "pay 0.50 USDC to 0x… for tea", with everything that
   * matters, also what is not in the arguments (which network). An approval is bound to these words too. Absent: the
   * tool's name. Must not do I/O and must not throw.
   */
  describe?(input: z.infer<Schema>): string;
  /** The time one call may take, in milliseconds; the loop aborts the signal after it. May depend on the arguments. */
  timeoutMs(input: z.infer<Schema>): number;
  /**
   * Where this tool takes the values of secrets to. Absent: nowhere, and a reference in its arguments stays one. Its
   * owner has to allow the place for each secret.
   */
  readonly secretPlace?: SecretPlace;
  /** All of its output is text from outside: of a page, a document, another agent. */
  readonly bringsOutside?: boolean;
  /** Resolves after the effect is whole, or rejects with nothing done. Honors `context.signal`. */
  execute(input: z.infer<Schema>, context: ToolContext): Promise<ToolOutput>;
  /**
   * Rejects when the call cannot be made as things stand. Asked before a person is, so that nobody allows what cannot be
   * done; has no effect itself, and `execute` looks again.
   */
  check?(input: z.infer<Schema>, context: ToolContext): Promise<void>;
  /** For `queryable` only: what became of the call with this key; undefined when it never happened. */
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
   * `text` with each `{{secret:NAME}}` replaced by the value: for tools with a `secretPlace`, asked at the last moment,
   * and never put into a result. `host` is where it would be sent. Rejects with `not-found` or `forbidden`.
   */
  resolveSecrets(text: string, host?: string): Promise<string>;
  /** Whether this task, or what it goes on from, has read text from outside; what it keeps now may stem from it. */
  readonly hasReadOutside: boolean;
}

export interface ToolOutput {
  /** What the model reads. Text goes as it is, other values as JSON. Cut to the loop's size limit. */
  readonly content: Json;
  /** True for a failure the model should know of and may work around. */
  readonly isError?: boolean;
  /** True when this output holds text from outside, for tools that tell it apart. */
  readonly fromOutside?: boolean;
  /** Files for the person (screenshots, documents): each becomes an artifact of the task. */
  readonly files?: readonly Part[];
}

/** A tool with its input type kept inside its own file; the catalogue sees plain tools. */
export function defineTool<Schema extends z.ZodObject>(tool: Tool<Schema>): Tool {
  return tool;
}

/** Tools that come and go, some of them one owner's own. */
export interface ToolSource {
  /** What they all have in common, also while there are none: how their names begin, and how they are asked for. */
  readonly kind: Pick<Tool, 'name'>;
  /** Looks again; asked for before each run of this owner. Never rejects. */
  refresh(scope: Scope | undefined): Promise<void>;
  /** Looks if it never looked for this owner. Never rejects. */
  prepare(scope: Scope): Promise<void>;
  /** Those that this owner has now; without a scope those that everybody has. The same tool stays the same object. */
  list(scope: Scope | undefined): readonly Tool[];
}

/** What one shipped family brings, or why it brings nothing. */
export interface ToolFamily {
  /** As in the configuration: `tools.NAME`. */
  readonly name: string;
  /** `off` by configuration; `missing` when it is wanted and cannot work here. */
  readonly state: 'on' | 'off' | 'missing';
  /** Empty unless it is on. */
  readonly tools: readonly Tool[];
  /** Further ones that come and go. */
  readonly source?: ToolSource;
  /** What owners keep in it outside the database; there whatever the state is. */
  readonly kept?: OwnedKind;
  /** Recalls something for each run. */
  readonly memory?: Remembering;
  /** In a sentence part: why it is not on, or what there is to know about it. */
  readonly note?: string;
  /** What to set or install, as a sentence. */
  readonly hint?: string;
  close?(): Promise<void> | void;
}

/** A family that is switched off by `key`. */
export function off(name: string, key = `tools.${name}.enabled`): ToolFamily {
  return { name, state: 'off', tools: [], note: 'switched off', hint: `Set ${key}.` };
}

/** A family that is wanted and cannot work here, and why. */
export function missing(name: string, { message, hint }: Pick<LangoError, 'message' | 'hint'>): ToolFamily {
  return { name, state: 'missing', tools: [], note: message, ...(hint ? { hint } : {}) };
}
