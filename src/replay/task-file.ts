import { z } from 'zod';
import { canonicalJson } from '../core/canonical-json.js';
import { LangoError } from '../core/errors.js';
import { eventBody, form, grant, unchanged } from '../core/event-schema.js';
import { assertJsonValue, isJsonObject, mapMembers, parseJson, type Json } from '../core/json.js';
import { TASK_STATES } from '../core/task-states.js';

/** A later version of Lango reads every earlier version of the format. */
export const VERSION = 1;
/** The most tasks of one file. */
export const MAX_TASKS = 1_000;

const count = z.number().int().min(0);
const name = z.string().min(1).max(200);
const limit = z.number().min(0);

const event = form({ seq: count.min(1), at: count, author: name.optional(), body: eventBody });

const task = form({
  ...{ id: name, agent: name, contextId: name, parentTaskId: name.optional() },
  ...{ grant: grant.omit({ scopes: true, trace: true }), state: z.enum(TASK_STATES), createdAt: count },
  /** The task that the first events of a fork are from, and their number. Undefined for other tasks. */
  fork: form({ taskId: name, seq: count.min(1) }).optional(),
  /** The node that ran it. */
  node: form({ id: name, version: name }),
  limits: form({
    ...{ delegationRounds: limit, fanOut: limit, depth: limit, turns: limit, toolCalls: limit },
    ...{ tokens: limit, seconds: limit, approvalSeconds: limit, repeats: limit },
    ...{ toolOutputBytes: limit, answerTokens: limit, historyTokens: limit, entryBytes: limit },
  }),
  events: unchanged(z.array(event)),
});

const hasNoGap = (events: readonly { readonly seq: number }[]) =>
  events.every(({ seq }, at) => seq === at + 1);
const allEvents = z.array(event).min(1).refine(hasNoGap, 'the numbers of its events have a gap');
const wholeTask = form({ ...task.shape, events: unchanged(allEvents) });

const areUnique = (tasks: readonly { readonly id: string }[]) =>
  new Set(tasks.map(({ id }) => id)).size === tasks.length;

/** A part of a task, as a node gives it: `next` is the event after which the next part begins. */
const taskPage = form({ task, next: count.optional() });

/** A task with the tasks below it, on all nodes. Members that this version does not know are kept. */
const taskFileSchema = form({
  format: z.literal('lango-task'),
  version: z.literal(VERSION),
  /** Whether the file holds texts, arguments and results. Without them it shows what happened, and cannot be replayed. */
  content: z.boolean(),
  /** The first one is the task that was asked for. */
  tasks: unchanged(z.array(wholeTask).min(1).max(MAX_TASKS).refine(areUnique, 'a task is in it twice')),
  /** The tasks of agents whose servers do not show their entries: they are in the file as their callers saw them. */
  elsewhere: unchanged(z.array(form({ taskId: name, agent: name, parentTaskId: name })).max(MAX_TASKS)),
  /** The cards of the agents, without signatures, by the agent's name. */
  cards: z.record(z.string(), z.record(z.string(), z.unknown())),
});

export type RecordedTask = Readonly<z.output<typeof task>>;
export type TaskPage = Readonly<z.output<typeof taskPage>>;
export type TaskFile = Readonly<z.output<typeof taskFileSchema>>;

/** The JSON Schema of a file, for other programs. */
export function taskFileJsonSchema(): object {
  return z.toJSONSchema(taskFileSchema, { io: 'input' });
}

/** The limits of a file: functions which recurse are given what is in it. */
const JSON_LIMITS = { depth: 100, keys: 100_000, containers: 10_000_000 };

/** Parses the text of a file. Throws `invalid-input`. The values are checked by `parseTaskFile`. */
export function parseTaskText(text: string): unknown {
  const value = parseJson(text);
  if (value !== undefined) return value;
  const hint = 'A file of `lango tasks export` is one JSON object.';
  throw new LangoError('invalid-input', 'The file is no JSON.', { hint });
}

const NO_CONTENT =
  'The file was exported without contents, so there is nothing that the agents could be told again.';

/** Checks a file. Throws `invalid-input`, which names what is wrong, but no value. */
export function parseTaskFile(value: unknown, { needsContent = false } = {}): TaskFile {
  assertJsonValue(value, JSON_LIMITS);
  const file = checked(taskFileSchema, value);
  if (needsContent && !file.content)
    throw new LangoError('invalid-input', NO_CONTENT, { hint: 'Export the task without --no-content.' });
  return file;
}

/** Checks a page of a task of another process. Throws `invalid-input`. */
export function parseTaskPage(value: unknown): TaskPage {
  return checked(taskPage, value);
}

function checked<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const version = (value as { version?: unknown } | undefined)?.version;
  if (typeof version === 'number' && version > VERSION) {
    const text = `The file has version ${version} of the format, and this program knows version ${VERSION}.`;
    const hint = 'Use the version of Lango that wrote it, or a later one.';
    throw new LangoError('invalid-input', text, { hint });
  }
  const [issue] = error.issues;
  const text = `This is no exported task: ${issue?.path.join('.') || 'all'}: ${issue?.message}.`;
  throw new LangoError('invalid-input', text, { hint: 'A file of `lango tasks export` is one.' });
}

/** Writes a file as text: canonical JSON, and a line feed. Equal tasks give equal bytes. */
export function taskFileText(file: TaskFile): string {
  return `${canonicalJson(file)}\n`;
}

/** The members whose texts name kinds, ids, agents, tools and models. Every other text is left out. */
const KEPT: ReadonlySet<string> = new Set(
  (
    'type kind role state step id callId taskId agent author tool effect key hash artifactId contextId ' +
    'peerContextId stopReason node model currency provider mediaType'
  ).split(' '),
);
/** The members in which any name may occur: all that they hold is left out. */
const EMPTIED: ReadonlySet<string> = new Set('arguments metadata block answerSchema request data'.split(' '));
/** The optional members that hold nothing but contents. */
const LEFT_OUT: ReadonlySet<string> = new Set('asks replies extensions referenceTaskIds'.split(' '));
/** The reason of an end, as a word for programs: "limit-tokens". */
const CODE = /^[a-z]+(-[a-z]+)+$/;

/** The file without texts, arguments, results and files, for a report about a defect: what happened, when, and what it cost. */
export function withoutContent(file: TaskFile): TaskFile {
  const tasks = file.tasks.map((task) => ({
    ...task,
    events: task.events.map((event) => ({ ...event, body: without(event.body as unknown as Json) })),
  }));
  return { ...file, content: false, tasks: tasks as unknown as TaskFile['tasks'], cards: {} };
}

function without(value: Json, key = ''): Json {
  if (EMPTIED.has(key)) return typeof value === 'string' ? '' : {};
  if (typeof value === 'string') return KEPT.has(key) || (key === 'reason' && CODE.test(value)) ? value : '';
  if (Array.isArray(value)) return (value as Json[]).map((item) => without(item, key));
  if (!isJsonObject(value)) return value;
  // A hash of a request would tell a short text to somebody who tries many.
  if (key === 'asked') return { model: value['model'] ?? '', hash: '' };
  // The names of functions say what was done; those of files and artifacts are content.
  const isNamed = value['type'] === 'function-call' || 'isError' in value;
  const kept = Object.entries(value).filter(([name]) => !LEFT_OUT.has(name));
  return mapMembers(Object.fromEntries(kept), (member = '', name) =>
    name === 'name' && isNamed ? member : without(member, name),
  );
}
