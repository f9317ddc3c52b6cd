import type { Percentiles } from './overview.js';

/** The tasks that one agent asked of another one, in a time. */
export interface MapEdge {
  /** Empty for people and for clients that are no agents. */
  readonly from: string;
  /** The id of the node of `from`, when that is another one. */
  readonly fromNode?: string;
  readonly to: string;
  readonly calls: number;
  readonly failed: number;
  /** The milliseconds from the request to its end. Absent while none has ended. */
  readonly time?: Percentiles;
}

/** A node by the name that people read; `url` where this node asks it. */
export interface KnownNode {
  readonly id: string;
  readonly name: string;
  readonly url?: string;
}

export const MAX_NODE_NAME = 100;

const ID_CHARACTERS = 8;

/** The words for a node whose name is not known: the beginning of its id. */
export const shortNodeName = (id: string): string =>
  id.length > 2 * ID_CHARACTERS ? `node ${id.slice(0, ID_CHARACTERS)}` : id;
