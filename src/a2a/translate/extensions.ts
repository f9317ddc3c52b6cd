import { LangoError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { isJsonObject, isTexts } from '../../core/json.js';
import { NO_USAGE } from '../../core/model.js';
import type { Usage } from '../../core/model.js';
import type { Activity, Grant, TaskState } from '../../core/task.js';
import { TASK_STATES } from '../../core/task.js';

/**
 * The extensions that Lango declares on its cards. All are optional for clients: they only add members to `metadata`
 * (and one data part for questions), under these URIs. See docs/reference/extensions.md and the pages it lists.
 */
export const EXTENSIONS = {
  /** The author of an event, message or artifact, the author's activity, and whether it may stem from outside text. */
  author: 'urn:lango:a2a:author:v1',
  /** `{ seq }` on each event; a subscription with the header `Last-Event-ID: seq` replays from there. */
  cursor: 'urn:lango:a2a:cursor:v1',
  /** On a delegating message: the chain of delegations and the remaining limits, `{ parentTaskId, …grant }`. */
  chain: 'urn:lango:a2a:chain:v1',
  /** Questions and answers as data parts: `{ question }`, `{ answer }`. */
  approval: 'urn:lango:a2a:approval:v1',
  /** The tokens of the task and its sub-tasks, on the final status: `{ input, output, cached }`. */
  usage: 'urn:lango:a2a:usage:v1',
} as const;

export const OUR_EXTENSIONS: readonly string[] = Object.values(EXTENSIONS);

/** The longest id that a client may send, in characters. */
export const MAX_ID_LENGTH = 256;

export interface AuthorMark {
  readonly author: string;
  readonly activity?: Activity;
  /** At the end of a run: whether its output may stem from text from outside. */
  readonly fromOutside?: boolean;
}

export function authorMetadata(mark: AuthorMark): JsonObject {
  return { [EXTENSIONS.author]: mark as unknown as JsonObject };
}

/** Undefined when the extension is absent or malformed. */
export function authorIn(metadata: unknown): AuthorMark | undefined {
  const mark = extensionIn(metadata, EXTENSIONS.author);
  if (typeof mark?.['author'] !== 'string' || mark['author'] === '') return undefined;
  const activity = parseActivity(mark['activity']);
  const { fromOutside } = mark;
  return {
    author: mark['author'],
    ...(activity ? { activity } : {}),
    ...(typeof fromOutside === 'boolean' ? { fromOutside } : {}),
  };
}

export function cursorMetadata(seq: number): JsonObject {
  return { [EXTENSIONS.cursor]: { seq } };
}

export function seqIn(metadata: unknown): number | undefined {
  const seq = extensionIn(metadata, EXTENSIONS.cursor)?.['seq'];
  return isCount(seq) ? seq : undefined;
}

export interface ChainMark {
  readonly parentTaskId: string | undefined;
  readonly grant: Partial<Grant>;
}

/** Leaves out the trace, which has a header of its own. */
export function chainMetadata(parentTaskId: string, { trace: _, ...grant }: Grant): JsonObject {
  return { [EXTENSIONS.chain]: { parentTaskId, ...grant } };
}

/**
 * Reads the chain of delegations. A malformed member must not lift a limit, so it throws `invalid-input` with the name of
 * the member.
 */
export function chainIn(metadata: unknown): ChainMark {
  const given = isJsonObject(metadata) ? metadata[EXTENSIONS.chain] : undefined;
  if (given === undefined) return { parentTaskId: undefined, grant: {} };
  const mark = isJsonObject(given) ? given : { '': given };
  const broken = Object.entries(mark).filter(
    ([name, value]) => CHAIN_MEMBERS[name]?.(value) === false || name === '',
  );
  if (broken.length > 0) {
    throw new LangoError('invalid-input', 'the chain of delegations cannot be read', {
      violations: broken.map(([name]) => ({
        field: `message.metadata.${EXTENSIONS.chain}${name && `.${name}`}`,
        description: 'has the wrong type',
      })),
    });
  }
  const { parentTaskId, chain, depth, deadline, tokens, tools, fromOutside } = mark as Partial<Grant> & {
    readonly parentTaskId?: string;
  };
  const grant = { chain, depth, deadline, tokens, tools, fromOutside };
  const said = Object.entries(grant).filter(([, value]) => value !== undefined);
  return { parentTaskId, grant: Object.fromEntries(said) };
}

/** Checks the type of each known member; others are ignored. */
const CHAIN_MEMBERS: Readonly<Record<string, (value: unknown) => boolean>> = {
  parentTaskId: isId,
  chain: isTexts,
  depth: isWhole,
  deadline: isWhole,
  tokens: isWhole,
  tools: isTexts,
  fromOutside: (value) => typeof value === 'boolean',
};

export function usageMetadata(usage: Usage): JsonObject {
  return { [EXTENSIONS.usage]: { ...usage } };
}

export function usageIn(metadata: unknown): Usage {
  const mark = extensionIn(metadata, EXTENSIONS.usage);
  const { input, output, cached } = mark ?? {};
  return isCount(input) && isCount(output) && isCount(cached) ? { input, output, cached } : NO_USAGE;
}

function extensionIn(metadata: unknown, uri: string): JsonObject | undefined {
  const mark = isJsonObject(metadata) ? metadata[uri] : undefined;
  return isJsonObject(mark) ? mark : undefined;
}

function parseActivity(value: unknown): Activity | undefined {
  if (!isJsonObject(value)) return undefined;
  switch (value['type']) {
    case 'turn-start':
      return { type: 'turn-start' };
    case 'text':
      return isText(value['text']) ? { type: 'text', text: value['text'] } : undefined;
    case 'tool-call':
      return isText(value['tool']) && isJsonObject(value['arguments'])
        ? { type: 'tool-call', tool: value['tool'], arguments: value['arguments'] }
        : undefined;
    case 'tool-result':
      return isText(value['tool']) && isText(value['text']) && typeof value['isError'] === 'boolean'
        ? { type: 'tool-result', tool: value['tool'], isError: value['isError'], text: value['text'] }
        : undefined;
    case 'delegation-start':
      return isText(value['agent']) && isText(value['request'])
        ? { type: 'delegation-start', agent: value['agent'], request: value['request'] }
        : undefined;
    case 'delegation-end':
      return isText(value['agent']) && isState(value['state'])
        ? { type: 'delegation-end', agent: value['agent'], state: value['state'] }
        : undefined;
    default:
      return undefined;
  }
}

function isState(value: unknown): value is TaskState {
  return (TASK_STATES as readonly unknown[]).includes(value);
}

function isId(value: unknown): value is string {
  return isText(value) && value !== '' && value.length <= MAX_ID_LENGTH;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isCount(value: unknown): value is number {
  return isWhole(value) && value >= 0;
}
