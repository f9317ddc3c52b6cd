import { isJsonObject, type Json } from '../core/json.js';
import type { RecordedTask, TaskFile } from './task-file.js';

/** The members whose texts name kinds, ids, agents, tools and models. Every other text is left out. */
const KEPT: ReadonlySet<string> = new Set(
  (
    'type kind role state step id callId taskId agent author tool effect key hash artifactId contextId ' +
    'peerContextId stopReason node model currency provider mediaType'
  ).split(' '),
);
/** The members that are left out as a whole, as any member of theirs may be content. */
const EMPTIED: ReadonlySet<string> = new Set(['arguments', 'metadata', 'block', 'answerSchema', 'request']);
const NULLED: ReadonlySet<string> = new Set(['data', 'asks']);
/** The file without texts, arguments, results and files, for a report about a defect: what happened, when, and what it cost. */
export function withoutContent(file: TaskFile): TaskFile {
  return { ...file, content: false, tasks: file.tasks.map(emptied), cards: {} };
}

function emptied(task: RecordedTask): RecordedTask {
  const events = task.events.map((event) => ({
    ...event,
    body: without(event.body as unknown as Json) as unknown as typeof event.body,
  }));
  return { ...task, events };
}

function without(value: Json, key = ''): Json {
  if (typeof value === 'string') return KEPT.has(key) ? value : '';
  if (Array.isArray(value)) return (value as Json[]).map((item) => without(item, key));
  if (!isJsonObject(value)) return value;
  // The names of functions say what was done; those of files and artifacts are content.
  const isNamed = value['type'] === 'function-call' || 'isError' in value;
  const members = Object.entries(value).flatMap(([name, member]): [string, Json][] => {
    const given = member as Json;
    if (name === 'asked') return [[name, askedModel(given)]];
    if (NULLED.has(name)) return name === 'data' ? [[name, null]] : [];
    if (name === 'replies' || name === 'extensions' || name === 'referenceTaskIds') return [];
    if (EMPTIED.has(name)) return [[name, typeof given === 'string' ? '' : {}]];
    if (name === 'reason') return [[name, typeof given === 'string' && CODE.test(given) ? given : '']];
    return [[name, name === 'name' && isNamed ? given : without(given, name)]];
  });
  return Object.fromEntries(members);
}

/** A hash would tell a short text to somebody who tries many. */
function askedModel(given: Json): Json {
  return { model: isJsonObject(given) ? (given['model'] ?? '') : '', hash: '' };
}

/** The reason of an end, as a word for programs: "limit-tokens". */
const CODE = /^[a-z]+(-[a-z]+)+$/;
