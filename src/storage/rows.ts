import { crc32 } from 'node:zlib';
import { LangoError } from '../core/errors.js';
import type { Message } from '../core/message.js';
import type {
  EventBody,
  EventType,
  Grant,
  NewEvent,
  Question,
  TaskEvent,
  TaskRecord,
  TaskState,
} from '../core/task.js';
import { isTerminal, stateAfter } from '../core/task.js';
import { assertKeys } from '../stores/records.js';
import type { NewInput, NewTask } from '../stores/tasks.js';

export const DAY_MS = 24 * 60 * 60 * 1_000;

/** The default for the largest event body, in bytes of its JSON text. */
export const MAX_EVENT_BYTES = 1024 * 1024;

/** The author of the caller's events: messages and cancel requests. */
export const CALLER_AUTHOR = 'user';

/** A row of `tasks`; the column names are the same in every database. */
export interface TaskRow {
  /** A short number that replaces the id in large tables. It rises with each new task. */
  readonly key: number;
  readonly id: string;
  readonly tenant: string;
  readonly owner: string;
  readonly agent: string;
  readonly context: string;
  readonly parent: string | null;
  /** A `Grant` as JSON. */
  readonly authority: string;
  /** The number of delegations above the task. */
  readonly level: number;
  readonly state: TaskState;
  /** A `Message` as JSON, after its checksum. */
  readonly status_message: string | null;
  readonly status_at: number;
  readonly created_at: number;
  readonly head: number;
  readonly epoch: number;
  readonly lease_by: string | null;
  readonly lease_until: number;
  /** The number of processes that ended without a stop while they had the lease, since the task last recorded a step. */
  readonly crashes: number;
  /** When the first of the task's open questions expires. */
  readonly expires_at: number | null;
  /** 1 if the active run was sent a `cancel-request`. */
  readonly cancel_requested: 0 | 1;
  /** The task whose events a fork shares, and the number of the last one. Null for other tasks. */
  readonly fork_of?: string | null;
  readonly fork_at?: number | null;
}

/** One event of a task, with its body as text. */
export interface StoredEvent {
  readonly seq: number;
  readonly at: number;
  readonly author: string | null;
  /** An `EventBody` as JSON: without the content if it repeats entries of another task (see references.ts). */
  readonly body: string;
  /** The `EventBody` with its content. Only of events that this process wrote. */
  readonly whole?: string | undefined;
  /** The `EventBody`, where nobody else can change it. Only of events that this process wrote. */
  readonly parsed?: EventBody | undefined;
}

export function damagedTask(text: string): LangoError {
  return new LangoError('storage', text, {
    hint: 'Look for more damage with lango doctor --database, and restore a backup (lango restore FILE).',
  });
}

/** The columns of a task that its record is made of. */
export type RecordRow = Omit<
  TaskRow,
  'key' | 'level' | 'lease_by' | 'lease_until' | 'expires_at' | 'cancel_requested'
>;

export interface EncodedEvent extends Pick<StoredEvent, 'author' | 'body' | 'whole' | 'parsed'> {
  readonly type: EventType;
}

/** The change that a batch of events makes to the row of its task. */
interface TaskChange {
  /** Undefined if the batch does not change the state, the status message and the status time. */
  readonly state: TaskState | undefined;
  readonly statusMessage: string | null;
  /** Whether the batch records a step of the work, so that a resumed run begins further on. */
  readonly isStep: boolean;
  /** True if the batch ends the run. The lease is then released. */
  readonly endsRun: boolean;
  /** When the first of the questions that the run ends with expires. */
  readonly expiresAt: number | undefined;
}

/** Events to be written together, with the change they make to the row of their task. */
export interface EncodedBatch {
  readonly change: TaskChange;
  readonly events: readonly EncodedEvent[];
}

export function toTaskRecord(row: RecordRow): TaskRecord {
  return {
    id: row.id,
    tenant: row.tenant,
    owner: row.owner,
    agent: row.agent,
    contextId: row.context,
    parentTaskId: row.parent ?? undefined,
    ...(row.fork_of && { fork: { taskId: row.fork_of, seq: row.fork_at ?? 0 } }),
    grant: parseGrant(row),
    state: row.state,
    statusMessage: row.status_message === null ? undefined : openStatus(row),
    head: row.head,
    epoch: row.epoch,
    crashes: row.crashes,
    createdAt: row.created_at,
    statusAt: row.status_at,
  };
}

function parseGrant({ id, authority }: Pick<TaskRow, 'id' | 'authority'>): Grant {
  try {
    return JSON.parse(authority) as Grant;
  } catch {
    throw damagedTask(`The record of task ${id} is damaged.`);
  }
}

/** The status message with its checksum before it. Rows that were written before there were checksums have none. */
function sealStatus(json: string): string {
  return crc32(json).toString(16).padStart(CHECKSUM_DIGITS, '0') + json;
}

const CHECKSUM_DIGITS = 8;

function openStatus({ id, status_message: text }: Pick<TaskRow, 'id' | 'status_message'>): Message {
  const json = text!.startsWith('{') ? text! : text!.slice(CHECKSUM_DIGITS);
  if (json !== text && sealStatus(json) !== text)
    throw damagedTask(`The status message of task ${id} is damaged.`);
  return JSON.parse(json) as Message;
}

export function toTaskEvent(taskId: string, event: StoredEvent): TaskEvent {
  const { seq, at, author, body, whole = body, parsed } = event;
  return { taskId, seq, at, author: author ?? undefined, body: parsed ?? (JSON.parse(whole) as EventBody) };
}

/** Checks the keys of a message and encodes its event. `maxBytes` is the largest event body. */
export function encodeMessage(
  { scope, agent, message, request }: NewTask | NewInput,
  maxBytes: number | undefined,
): EncodedEvent {
  assertKeys({ tenant: scope.tenant, owner: scope.owner, agent, 'message.id': message.id });
  const body = { type: 'message', message, ...(request && { request }) } as const;
  return encodeEvent({ author: CALLER_AUTHOR, body }, maxBytes);
}

export function encodeBatch(events: readonly NewEvent[], maxBytes: number | undefined): EncodedBatch {
  return { change: changeOf(events), events: events.map((event) => encodeEvent(event, maxBytes)) };
}

/** Throws `LangoError`: `too-large` for a body over `maxBytes`, `invalid-input` for a body that JSON cannot hold. */
export function encodeEvent(event: NewEvent, maxBytes = MAX_EVENT_BYTES): EncodedEvent {
  const from = 'from' in event.body ? event.body.from : undefined;
  const own = from ? { ...event.body, from: undefined } : event.body;
  const body = jsonOf(own);
  if (exceeds(body, maxBytes)) {
    const text = `A ${event.body.type} event holds more than ${maxBytes} bytes (tasks.eventBytes).`;
    throw new LangoError('too-large', text, { hint: 'Send less at once, or send large content as a URL.' });
  }
  const { type } = event.body;
  const encoded = { author: event.author ?? null, type };
  const reference = from && JSON.stringify(withoutContent(event.body));
  if (reference === undefined || reference.length >= body.length)
    return { ...encoded, body, parsed: unchangeable(event.body) };
  return { ...encoded, body: reference, whole: `${body.slice(0, -1)},"from":${JSON.stringify(from)}}` };
}

/** Returns a body that reads as its JSON does and shares no object with the agent that wrote it; undefined for most. */
function unchangeable(body: EventBody): EventBody | undefined {
  if (body.type === 'message') {
    const { message, ...rest } = body;
    const { parts, ...said } = message;
    if (!hasOnlyScalars(rest) || !hasOnlyScalars(said) || !parts.every(hasOnlyScalars)) return undefined;
    return { ...rest, message: { ...said, parts: parts.map((part) => ({ ...part })) } };
  }
  if (body.type !== 'run-end') return hasOnlyScalars(body) ? body : undefined;
  const { usage, ...rest } = body;
  return hasOnlyScalars(rest) && hasOnlyScalars(usage) ? { ...rest, usage: { ...usage } } : undefined;
}

function hasOnlyScalars(whole: object): boolean {
  for (const name in whole) {
    const value = (whole as Readonly<Record<string, unknown>>)[name];
    if (typeof value !== 'string' && typeof value !== 'boolean' && !isJsonNumber(value)) return false;
  }
  return true;
}

/** JSON has no negative zero. */
const isJsonNumber = (value: unknown): boolean => Number.isFinite(value) && !Object.is(value, -0);

/** The body to store of an event whose content entries of another task hold. */
function withoutContent(body: EventBody): object {
  switch (body.type) {
    case 'text-delta':
      return { ...body, text: undefined };
    case 'activity':
      return { ...body, activity: undefined };
    case 'artifact':
      return { ...body, artifact: { ...body.artifact, parts: undefined } };
    default:
      return body;
  }
}

function jsonOf(body: object & Pick<EventBody, 'type'>): string {
  try {
    return JSON.stringify(body);
  } catch (cause) {
    const text = `An event of type ${body.type} has a value that JSON cannot represent, such as a cycle or a BigInt.`;
    throw new LangoError('invalid-input', text, { cause });
  }
}

/** The events that are no progress: those that a resumed run writes again, and those that the run does not write itself. */
const NO_STEPS: readonly EventType[] = ['run-start', 'text-delta', 'status', 'activity', 'cancel-request'];

/** Throws `LangoError` `invalid-input` if an event follows one that ends the task: a task has one terminal event. */
function changeOf(events: readonly NewEvent[]): TaskChange {
  let state: TaskState | undefined;
  let message: Message | undefined;
  let expiresAt: number | undefined;
  let endsRun = false;
  for (const { body } of events) {
    if (state !== undefined && isTerminal(state))
      throw new LangoError('invalid-input', `No ${body.type} event can follow the end of its task.`);
    const next = stateAfter(body, state ?? 'working');
    if (next === undefined) continue;
    // The run goes on after a status, so its task must stay one that another process can take over.
    state = body.type === 'status' && next === 'auth-required' ? 'working' : next;
    endsRun = body.type === 'run-end';
    message = body.type === 'run-end' || body.type === 'status' ? body.message : undefined;
    expiresAt = body.type === 'run-end' ? earliestExpiry(body.questions ?? []) : undefined;
  }
  const statusMessage = message === undefined ? null : sealStatus(JSON.stringify(message));
  const isStep = events.some(({ body }) => !NO_STEPS.includes(body.type));
  return { state, statusMessage, isStep, endsRun, expiresAt };
}

const MAX_BYTES_PER_CODE_UNIT = 3;

function exceeds(text: string, bytes: number): boolean {
  return text.length * MAX_BYTES_PER_CODE_UNIT > bytes && Buffer.byteLength(text) > bytes;
}

/** Returns the time at which the first of the questions expires; undefined if none of them does. */
function earliestExpiry(questions: readonly Question[]): number | undefined {
  const times = questions.flatMap(({ expiresAt }) => expiresAt ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}
