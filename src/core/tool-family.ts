import type { z } from 'zod';
import type { LangoError } from './errors.js';
import type { nodeFinding } from './node-status.js';
import type { RunMemory } from './run.js';
import type { Tool, ToolSource } from './tool.js';

/** A family of tools, or why it has none. */
export interface ToolFamily {
  /** As in the configuration: `tools.NAME`. */
  readonly name: string;
  /** `off` by configuration; `missing` when it is on and cannot work here. */
  readonly state: 'on' | 'off' | 'missing';
  /** Empty unless it is on. */
  readonly tools: readonly Tool[];
  /** Further tools, which change while the server runs. */
  readonly sources?: readonly ToolSource[];
  /** Adds memory to the prompt of each run. */
  readonly memory?: RunMemory;
  /** Part of a sentence: why the family is not on, or what to know about it. */
  readonly note?: string;
  /** The setting or package that helps, as a sentence. */
  readonly hint?: string;
  /** Findings for operators, besides the state of the family. */
  readonly findings?: readonly NodeFinding[];
  close?(): Promise<void> | void;
}

export type NodeFinding = Readonly<Omit<z.output<typeof nodeFinding>, 'hint'>> & { readonly hint?: string };

export function on(name: string, tools: readonly Tool[]): ToolFamily {
  return { name, state: 'on', tools };
}

/** Returns a family that the setting `key` switches off. */
export function off(name: string, key = `tools.${name}.enabled`): ToolFamily {
  return { name, state: 'off', tools: [], note: 'switched off', hint: `Set ${key}.` };
}

/** Returns a family that is on and cannot work here, with the reason. */
export function missing(name: string, { message, hint }: Pick<LangoError, 'message' | 'hint'>): ToolFamily {
  return { name, state: 'missing', tools: [], note: message, ...(hint ? { hint } : {}) };
}
