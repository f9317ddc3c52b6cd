import type { Capability } from '../core/capability.js';
import { browser } from './browser/index.js';
import { knowledge } from './knowledge/index.js';
import { mcp } from './mcp/index.js';
import { memory } from './memory/index.js';
import { payments } from './payments/index.js';
import { secrets } from './secrets/index.js';
import { skills } from './skills/index.js';
import { workspace } from './workspace/index.js';

/**
 * The capabilities that Lango ships: all that agents can do. A new one is a folder here and a line below. Prompts and
 * pages list their tools and their settings in this order.
 */
// prettier-ignore
const SHIPPED = [
  workspace,
  browser,
  secrets,
  payments,
  knowledge,
  mcp,
  memory,
  skills,
] as const;

export const CAPABILITIES: readonly Capability[] = SHIPPED;

/** Whether a capability comes with Lango. One from outside sees its own tables only. */
export const isShipped = (capability: Capability): boolean => CAPABILITIES.includes(capability);

type GroupsOf<One> = One extends { readonly settings?: infer Groups } ? NonNullable<Groups> : never;
type All<Union> = (Union extends unknown ? (one: Union) => void : never) extends (one: infer Whole) => void
  ? Whole
  : never;

/** The settings of all shipped capabilities, by their places. */
export type ShippedGroups = All<GroupsOf<(typeof SHIPPED)[number]>>;
