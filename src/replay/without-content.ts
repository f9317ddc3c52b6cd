import { isJsonObject, mapMembers, type Json } from '../core/json.js';
import type { TaskFile } from './task-file.js';

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
