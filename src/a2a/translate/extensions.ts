import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { EXTENSIONS, FORK } from '../../core/extensions.js';
import type { ForkPlace } from '../../core/fork.js';
import { isJsonObject, type JsonObject } from '../../core/json.js';
import { MAX_NODE_NAME } from '../../core/agent.js';
import { NO_USAGE, type Usage } from '../../core/model.js';
import { TASK_STATES } from '../../core/task-states.js';
import type { Grant } from '../../core/task.js';

/** The most rows of a bill that a peer may send. */
const MAX_ROWS = 50;

/** The longest id that a client may send, in characters. */
export const MAX_ID_LENGTH = 256;

export type AuthorMark = Readonly<z.output<typeof authorSchema>>;

export function authorMetadata(mark: AuthorMark): JsonObject {
  return { [EXTENSIONS.author]: mark };
}

/** Returns undefined when the extension is absent or malformed, and leaves out malformed optional members. */
export function authorIn(metadata: unknown): AuthorMark | undefined {
  return authorSchema.safeParse(extensionIn(metadata, EXTENSIONS.author)).data;
}

export function seqIn(metadata: unknown): number | undefined {
  return count.safeParse(extensionIn(metadata, EXTENSIONS.cursor)?.['seq']).data;
}

export interface ChainMark {
  readonly parentTaskId: string | undefined;
  readonly grant: Partial<Grant>;
}

/** Leaves out the trace, which has a header of its own. */
export function chainMetadata(parentTaskId: string, { trace: _, ...grant }: Grant): JsonObject {
  return { [EXTENSIONS.chain]: { parentTaskId, ...grant } };
}

const chainSchema = z
  .object({
    parentTaskId: z.string().min(1).max(MAX_ID_LENGTH),
    chain: z.array(z.string()),
    depth: z.int(),
    deadline: z.int(),
    tokens: z.int(),
    cost: z.object({ amount: z.number(), currency: z.string() }),
    tools: z.array(z.string()),
    scopes: z.array(z.string()),
    fromOutside: z.boolean(),
  })
  .partial();

/**
 * Reads the chain of delegations. A malformed member must not lift a limit, so it throws `invalid-input` with the name of
 * the member.
 */
export function chainIn(metadata: unknown): ChainMark {
  const given = isJsonObject(metadata) ? metadata[EXTENSIONS.chain] : undefined;
  if (given === undefined) return { parentTaskId: undefined, grant: {} };
  const { data, error } = chainSchema.safeParse(given);
  if (error) {
    throw new LangoError('invalid-input', 'The chain of delegations cannot be read.', {
      violations: error.issues.map(({ path }) => ({
        field: ['message', 'metadata', EXTENSIONS.chain, ...path].join('.'),
        description: 'has the wrong type',
      })),
    });
  }
  const { parentTaskId, ...grant } = data;
  return { parentTaskId, grant };
}

export function usageMetadata(usage: Usage): JsonObject {
  return { [EXTENSIONS.usage]: { ...usage } };
}

export type NodeMark = Readonly<z.output<typeof nodeSchema>>;

export const nodeParams = (node: NodeMark): JsonObject => ({ node: { ...node } });

/** The node that a card names; undefined for a card that names none, or not as it should. */
export function nodeOnCard(card: unknown): NodeMark | undefined {
  const declared = cardSchema.safeParse(card).data?.capabilities.extensions;
  const params = declared?.find(({ uri }) => uri === EXTENSIONS.usage)?.params;
  return nodeParamsSchema.safeParse(params).data?.node;
}

const count = z.int().nonnegative();
const name = z.string().max(MAX_ID_LENGTH);
const counted = z.object({ input: count, output: count, cached: count, written: count.exactOptional() });
const row = counted.extend({
  ...{ node: name, agent: name, model: name, currency: name },
  cost: z.number().nonnegative().exactOptional(),
});
const rowsSchema = z.array(row).max(MAX_ROWS);

/** Reads reported usage; a malformed report counts as none. Tokens count even when their rows are malformed or too many. */
export function usageIn(metadata: unknown): Usage {
  const mark = extensionIn(metadata, EXTENSIONS.usage);
  if (!mark) return NO_USAGE;
  const { data: usage = NO_USAGE } = counted.safeParse(mark);
  const { data: rows } = rowsSchema.safeParse(mark['rows']);
  return { ...usage, ...(rows && { rows }) };
}

const cardSchema = z.object({
  capabilities: z.object({
    extensions: z.array(z.object({ uri: z.string(), params: z.unknown().optional() })),
  }),
});
const nodeName = z.string().min(1).max(MAX_NODE_NAME);
/** A node on the cards of its agents: its id in the rows of bills, and its name for people. */
const nodeSchema = z.object({ id: name.min(1), name: nodeName.exactOptional() });
const nodeParamsSchema = z.object({ node: nodeSchema });

const forkSchema = z.object({ taskId: name, seq: count });

/** The place at which a fork parts from its task; undefined for metadata that say nothing of a fork. */
export function forkIn(metadata: unknown): ForkPlace | undefined {
  return forkSchema.safeParse(extensionIn(metadata, FORK)).data;
}

function extensionIn(metadata: unknown, uri: string): JsonObject | undefined {
  const mark = isJsonObject(metadata) ? metadata[uri] : undefined;
  return isJsonObject(mark) ? mark : undefined;
}

/** Longer than the id that a message gets over the greatest depth of delegation. */
const MESSAGE_ID_MAX = 2_000;
const text = z.string();
const activitySchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('turn-start') }),
  z.object({ type: z.literal('thinking'), text }),
  z.object({
    type: z.literal('text'),
    text,
    id: text.max(MESSAGE_ID_MAX).optional(),
    replace: z.boolean().optional(),
    waitMs: z.number().min(0).optional(),
  }),
  z.object({ type: z.literal('tool-call'), tool: text, arguments: z.custom<JsonObject>(isJsonObject) }),
  z.object({ type: z.literal('tool-result'), tool: text, isError: z.boolean(), text }),
  z.object({ type: z.literal('delegation-start'), agent: text, request: text }),
  z.object({
    type: z.literal('delegation-end'),
    agent: text,
    state: z.enum(TASK_STATES),
    reason: text.optional(),
  }),
]);
const authorSchema = z.object({
  author: text.min(1),
  activity: activitySchema.optional().catch(undefined),
  /** At the end of a run: whether its output may stem from text from outside. */
  fromOutside: z.boolean().optional().catch(undefined),
});
