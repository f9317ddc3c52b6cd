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

/**
 * The deeds of the agents of all tasks, in the order of the calls: the work of an agent stands after its delegation. Of agents
 * whose servers do not show their entries, it is what their callers saw.
 */
export function deedsIn({ tasks }: TaskFile): readonly Deed[] {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const agents = new Set(tasks.map(({ agent }) => agent));
  const seen = new Set<string>();
  const walk = (task: RecordedTask): readonly Deed[] => {
    if (seen.has(task.id)) return [];
    seen.add(task.id);
    return task.events.flatMap(({ author = task.agent, body }) => {
      if (body.type === 'delegation-task') return byId.has(body.taskId) ? walk(byId.get(body.taskId)!) : [];
      const isSeenFromHere = body.type === 'activity' && !agents.has(author);
      return deedOf(isSeenFromHere ? body.activity : body) ?? [];
    });
  };
  return walk(tasks[0]!);
}

function deedOf(what: EventBody | Extract<EventBody, { type: 'activity' }>['activity']): Deed | undefined {
  if (what.type === 'tool-call') return { kind: 'tool', name: what.tool, arguments: what.arguments };
  if (what.type !== 'delegation-start') return undefined;
  return { kind: 'agent', name: what.agent, arguments: { request: what.request } };
}

/** The answer of a task: its data, if it has some, and its text with what it said at its end. */
export function answerOf({ events }: RecordedTask): { readonly text: string; readonly data?: Json } {
  const texts = new Map<string, string>();
  let data: Json | undefined;
  let said = '';
  for (const { body } of events) {
    if (body.type === 'text-delta' && !body.isMessage)
      texts.set(body.artifactId, body.replace ? body.text : (texts.get(body.artifactId) ?? '') + body.text);
    if (body.type === 'artifact') {
      const { id, parts } = body.artifact;
      texts.set(id, (body.append ? (texts.get(id) ?? '') : '') + textOf(parts));
      for (const part of parts) if (part.kind === 'data') data = part.data;
    }
    if (body.type === 'run-end') said = textOf(body.message?.parts ?? []);
  }
  const text = [...texts.values(), said].filter((each) => each !== '').join('\n');
  return { text, ...defined({ data }) };
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
