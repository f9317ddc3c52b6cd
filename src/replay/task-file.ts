import { z } from 'zod';
import { canonicalJson } from '../core/canonical-json.js';
import type { AgentLimits } from '../core/agent.js';
import { LangoError } from '../core/errors.js';
import { assertJsonValue } from '../core/json.js';
import { TASK_STATES, type TaskEvent, type TaskRecord } from '../core/task.js';
import type { ForkPlace } from '../core/fork.js';
import { eventBody, grant } from './event-schema.js';

const FORMAT = 'lango-task';
/** A later version of Lango reads every earlier version of the format. */
const VERSION = 1;
/** The most tasks of one file. */
export const MAX_TASKS = 1_000;

type KeptMembers = 'id' | 'agent' | 'contextId' | 'grant' | 'state' | 'createdAt';

/** A task in a file. */
export interface RecordedTask extends Pick<TaskRecord, KeptMembers> {
  readonly parentTaskId?: string | undefined;
  /** The task that the first events of a fork are from, and their number. Undefined for other tasks. */
  readonly fork?: ForkPlace | undefined;
  /** The node that ran it. */
  readonly node: { readonly id: string; readonly version: string };
  readonly limits: Omit<AgentLimits, 'cost' | 'ownerCostPerDay'>;
  readonly events: readonly (Pick<TaskEvent, 'seq' | 'at' | 'body'> & {
    readonly author?: string | undefined;
  })[];
}

/** A part of a task, as a node gives it: `next` is the event after which the next part begins. */
export interface TaskPage {
  readonly task: RecordedTask;
  readonly next?: number | undefined;
}

/** A task with the tasks below it, on all nodes. */
export interface TaskFile {
  readonly format: typeof FORMAT;
  readonly version: typeof VERSION;
  /** Whether the file holds texts, arguments and results. Without them it shows what happened, and cannot be replayed. */
  readonly content: boolean;
  /** The first one is the task that was asked for. */
  readonly tasks: readonly RecordedTask[];
  /** The tasks of agents whose servers do not show their entries: they are in the file as their callers saw them. */
  readonly elsewhere: readonly {
    readonly taskId: string;
    readonly agent: string;
    readonly parentTaskId: string;
  }[];
  /** The cards of the agents, without signatures, by the agent's name. */
  readonly cards: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const count = z.number().int().min(0);
const name = z.string().min(1).max(200);
const limit = z.number().min(0);

const limits = z.looseObject({
  ...{ delegationRounds: limit, fanOut: limit, depth: limit, turns: limit, toolCalls: limit, tokens: limit },
  ...{ seconds: limit, approvalSeconds: limit, repeats: limit, toolOutputBytes: limit, answerTokens: limit },
  ...{ historyTokens: limit, entryBytes: limit },
});

const task = z.looseObject({
  ...{ id: name, agent: name, contextId: name, parentTaskId: name.optional(), grant },
  ...{ state: z.enum(TASK_STATES), createdAt: count },
  fork: z.looseObject({ taskId: name, seq: count.min(1) }).optional(),
  node: z.looseObject({ id: name, version: name }),
  limits,
  events: z
    .array(z.looseObject({ seq: count.min(1), at: count, author: name.optional(), body: eventBody }))
    .min(1)
    .refine(
      (events) => events.every(({ seq }, index) => seq === index + 1),
      'the numbers of its events have a gap',
    ),
});

/** A page of a task, before the numbers of its events are whole. */
const page = z.looseObject({
  task: z.looseObject({ ...task.shape, events: z.array(task.shape.events.element) }),
  next: count.optional(),
});

/** The form of a file. Members that this version does not know are kept. */
const taskFileSchema = z.looseObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  content: z.boolean(),
  tasks: z.array(task).min(1).max(MAX_TASKS),
  elsewhere: z.array(z.looseObject({ taskId: name, agent: name, parentTaskId: name })).max(MAX_TASKS),
  cards: z.record(z.string(), z.record(z.string(), z.unknown())),
});

/** The JSON Schema of a file, for other programs. */
export function taskFileJsonSchema(): object {
  return z.toJSONSchema(taskFileSchema, { io: 'input' });
}

/** The limits of a file: functions which recurse are given what is in it. */
const JSON_LIMITS = { depth: 100, keys: 100_000, containers: 10_000_000 };

/** Parses the text of a file. Throws `invalid-input`. The values are checked by `parseTaskFile`. */
export function parseTaskText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const hint = 'A file of `lango tasks export` is one JSON object.';
    throw new LangoError('invalid-input', 'The file is no JSON.', { hint, cause });
  }
}

const NO_CONTENT =
  'The file was exported without contents, so there is nothing that the agents could be told again.';

/** Checks a file. Throws `invalid-input`, which names what is wrong, but no value. */
export function parseTaskFile(value: unknown, { needsContent = false } = {}): TaskFile {
  assertJsonValue(value, JSON_LIMITS);
  const { success, data, error } = taskFileSchema.safeParse(value);
  if (!success) throw invalid(value, error.issues[0]);
  const ids = data.tasks.map(({ id }) => id);
  if (new Set(ids).size < ids.length)
    throw invalid(value, { path: ['tasks'], message: 'a task is in it twice' });
  if (needsContent && !data.content)
    throw new LangoError('invalid-input', NO_CONTENT, { hint: 'Export the task without --no-content.' });
  return data as unknown as TaskFile;
}

/** Checks a page of a task of another process. Throws `invalid-input`. */
export function parseTaskPage(value: unknown): TaskPage {
  const { success, data, error } = page.safeParse(value);
  if (!success) throw invalid(value, error.issues[0]);
  return data as unknown as TaskPage;
}

function invalid(value: unknown, issue: Pick<z.core.$ZodIssue, 'path' | 'message'> | undefined): LangoError {
  const version = (value as { version?: unknown } | undefined)?.version;
  if (typeof version === 'number' && version > VERSION) {
    const text = `The file has version ${version} of the format, and this program knows version ${VERSION}.`;
    return new LangoError('invalid-input', text, {
      hint: 'Use the version of Lango that wrote it, or a later one.',
    });
  }
  const where = issue?.path.join('.') || 'all';
  return new LangoError('invalid-input', `This is no exported task: ${where}: ${issue?.message}.`, {
    hint: 'A file of `lango tasks export` is one.',
  });
}

/** Makes a file of tasks. Equal tasks give equal bytes. */
export function taskFile(parts: Pick<TaskFile, 'tasks' | 'elsewhere' | 'cards' | 'content'>): TaskFile {
  return { format: FORMAT, version: VERSION, ...parts };
}

/** Writes a file as text: canonical JSON, and a line feed. */
export function taskFileText(file: TaskFile): string {
  return `${canonicalJson(file)}\n`;
}
