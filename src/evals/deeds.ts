import type { Use } from '../core/evaluations.js';
import { defined, type Json, type JsonObject } from '../core/json.js';
import { textOf } from '../core/message.js';
import { NO_USAGE } from '../core/model.js';
import type { EventBody } from '../core/task.js';
import type { RecordedTask, TaskFile } from '../replay/task-file.js';

/** A call of a tool, or a delegation. */
export interface Deed {
  readonly kind: 'tool' | 'agent';
  readonly name: string;
  readonly arguments: JsonObject;
}

/** The outcome of a task, as expectations see it. */
export type Outcome = ReturnType<typeof outcomeOf>;

export function outcomeOf(file: TaskFile) {
  const { tasks } = file;
  return { tasks, ...answerOf(tasks[0]!), deeds: deedsIn(file), use: useOf(file) };
}

/**
 * The deeds of the agents of all tasks, in the order of the calls: the work of an agent stands after its delegation. Of agents
 * whose servers do not show their entries, it is what their callers saw.
 */
export function deedsIn({ tasks }: TaskFile): readonly Deed[] {
  const left = new Map(tasks.map((task) => [task.id, task]));
  const agents = new Set(tasks.map(({ agent }) => agent));
  const walk = (id: string): readonly Deed[] => {
    const task = left.get(id);
    left.delete(id);
    return (task?.events ?? []).flatMap(({ author = task!.agent, body }) => {
      if (body.type === 'delegation-task') return walk(body.taskId);
      const isSeenFromHere = body.type === 'activity' && !agents.has(author);
      return deedOf(isSeenFromHere ? body.activity : body) ?? [];
    });
  };
  return walk(tasks[0]!.id);
}

function deedOf(what: EventBody | Extract<EventBody, { type: 'activity' }>['activity']): Deed | undefined {
  if (what.type === 'tool-call') return { kind: 'tool', name: what.tool, arguments: what.arguments };
  if (what.type !== 'delegation-start') return undefined;
  return { kind: 'agent', name: what.agent, arguments: { request: what.request } };
}

/** The answer of a task: its data, if it has some, and its text with what it said at its end. */
export function answerOf({ events }: RecordedTask): { readonly text: string; readonly data?: Json } {
  const texts = new Map<string, string>();
  const say = (id: string, text: string, isMore?: boolean) =>
    texts.set(id, (isMore ? (texts.get(id) ?? '') : '') + text);
  let data: Json | undefined;
  for (const { body } of events) {
    if (body.type === 'text-delta' && !body.isMessage) say(body.artifactId, body.text, !body.replace);
    if (body.type === 'artifact') {
      const { id, parts } = body.artifact;
      say(id, textOf(parts), body.append);
      data = parts.findLast((part) => part.kind === 'data')?.data ?? data;
    }
  }
  const end = events.findLast(({ body }) => body.type === 'run-end')?.body;
  const said = end?.type === 'run-end' && end.message ? textOf(end.message.parts) : '';
  return { text: [...texts.values(), said].filter((each) => each !== '').join('\n'), ...defined({ data }) };
}

/** The use of a task. What a fork shares was used before. */
export function useOf({ tasks: [root, ...below] }: Pick<TaskFile, 'tasks'>): Use {
  const events = root!.events.slice(root!.fork?.seq);
  const end = events.findLast(({ body }) => body.type === 'run-end')?.body;
  const { input, output, rows = [] } = end?.type === 'run-end' ? end.usage : NO_USAGE;
  const all = [...events, ...below.flatMap((task) => task.events)];
  const turns = all.filter(({ body }) => body.type === 'turn-end').length;
  const cost = rows.some((row) => row.cost === undefined)
    ? undefined
    : rows.reduce((sum, row) => Math.round((sum + row.cost!) * 1e9) / 1e9, 0);
  const seconds = (events.at(-1)!.at - events[0]!.at) / 1000;
  return { tokens: input + output, turns, seconds, ...defined({ cost }) };
}
