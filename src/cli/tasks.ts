import type { TaskView } from '../a2a/client/client.js';
import { LangoError, isLangoError } from '../core/errors.js';
import { duration, timeTaken } from '../core/duration.js';
import { EXTENSIONS } from '../core/extensions.js';
import { isJsonObject } from '../core/json.js';
import { textOf } from '../core/message.js';
import { isTerminal, type TaskState } from '../core/task.js';
import { saveArtifacts } from './attached-files.js';
import { connect, type Call, type Connection, type ConnectionFlags } from './connection.js';
import { replyCommands } from './conversation.js';
import { EXIT, usageError } from '../terminal/exit.js';
import { ask, explain } from './explain.js';
import { questionText } from './render.js';
import { counted } from '../core/text.js';
import { safeLine, safeText } from '../terminal/safe-text.js';
import type { Report, Terminal } from '../terminal/terminal.js';

export type TaskFlags = ConnectionFlags & { readonly agent?: string; readonly json?: boolean };

/** `agent`: undefined for all agents. `limit`: 1 to 100. */
interface TaskFilter {
  readonly agent?: string | undefined;
  readonly state?: TaskState;
  readonly context?: string;
  readonly limit: number;
}

interface ListedTask extends TaskView {
  /** Undefined for the agent at the root of the server. */
  readonly agent: string | undefined;
}

const TEXT_CHARACTERS = 60;
/** Most tasks have no more. The others are read whole, because their request is the first message. */
const LISTED_MESSAGES = 10;

/** `lango tasks list`: the newest tasks first, of one agent or of all. */
export async function listTasks(call: Call<ConnectionFlags & TaskFilter>): Promise<Report> {
  const connection = await connect(call);
  const { context } = call.flags;
  const filter = context === undefined ? {} : { context: await contextOf(connection, context) };
  const { tasks, closed } = await newestTasks({ ...call.flags, ...filter }, connection);
  const hasClosed = closed.length > 0;
  const ids = new Set(tasks.map(({ id }) => id));
  const own = tasks.filter((task) => !ids.has(parentOf(task) ?? ''));
  const below = `${counted(tasks.length - own.length, 'task')} of sub-agents left out: --agent NAME lists them.`;
  const left = safeLine(`Left out, because they need a scope that you lack: ${closed.join(', ')}.`);
  return {
    json: { tasks: tasks.map(toJson), ...(hasClosed && { closed }) },
    lines: own.map((task) => rowOf(task, call.terminal)),
    notes: [
      ...(tasks.length === 0 ? ['There are no such tasks.'] : []),
      ...(own.length < tasks.length ? [below] : []),
      ...(hasClosed ? [left] : []),
    ],
  };
}

/** `lango tasks get` */
export async function getTask(given: string, call: Call<TaskFlags & { out?: string }>): Promise<Report> {
  const connection = await connect(call);
  const { out, agent } = call.flags;
  const task = await locateTask(connection, given, agent);
  const notes = out === undefined ? [] : await saveArtifacts(task.artifacts, out);
  const listed = { ...task, agent: task.agent ?? (await rootName(connection)) };
  return { json: toJson(listed), lines: detailsOf(listed, call), notes };
}

/** `lango tasks cancel` */
export async function cancelTask(given: string, call: Call<TaskFlags>): Promise<Report> {
  const connection = await connect(call);
  const { agent, id: taskId } = await locateTask(connection, given, call.flags.agent);
  const task = await ask(connection, connection.client.cancel({ taskId, agent }));
  const json = toJson({ ...task, agent: agent ?? (await rootName(connection)) });
  const lines = [`${call.terminal.paint.state(task.state)} ${safeLine(task.id)}`];
  return { json, lines, exitCode: isTerminal(task.state) ? EXIT.ok : EXIT.failure };
}

/**
 * The newest tasks that match. Agents that refuse this caller are left out, and are in `closed`, unless all of them
 * refuse it.
 */
export async function newestTasks(filter: TaskFilter, connection: Connection) {
  const { tasks, closed } = await readTasks(filter, connection);
  return { tasks: await Promise.all(tasks.map((task) => withRequest(task, connection))), closed };
}

async function readTasks({ agent, state, context, limit }: TaskFilter, connection: Connection) {
  const query = { pageSize: limit, historyLength: LISTED_MESSAGES, state, contextId: context };
  const known = agent === undefined ? await agentNames(connection) : [agent];
  const names: readonly (string | undefined)[] = known.length > 0 ? known : [undefined];
  const closed: string[] = [];
  const pages = names.map(async (name) => {
    try {
      const { tasks } = await ask(connection, connection.client.list({ ...query, agent: name }), name);
      return tasks.map((task): ListedTask => ({ ...task, agent: name }));
    } catch (error) {
      if (name === undefined || !isLangoError(error, 'forbidden')) throw error;
      closed.push(name);
      if (closed.length === names.length) throw error;
      return [];
    }
  });
  const tasks = (await Promise.all(pages)).flat();
  tasks.sort((a, b) => (b.stateAt ?? '').localeCompare(a.stateAt ?? ''));
  return { tasks: tasks.slice(0, limit), closed };
}

/** The task with its first message. A task that was removed meanwhile stays as the list had it. */
async function withRequest(task: ListedTask, { client }: Connection): Promise<ListedTask> {
  if (task.history.length < LISTED_MESSAGES) return task;
  const { history } = await client.get({ taskId: task.id, agent: task.agent }).catch(() => task);
  return { ...task, history };
}

/** A task on one line: on a terminal with the end of its id, which is random, unlike the beginning; elsewhere with all of it. */
export function rowOf(task: ListedTask, { paint, isLive }: Pick<Terminal, 'paint' | 'isLive'>): string {
  const { id, state, stateAt = '', text, agent } = task;
  const taken = isTerminal(state) ? timeTaken(id, stateAt) : undefined;
  const columns = [
    safeLine(isLive && id.length === 36 ? id.slice(-8) : id),
    paint.dim(safeLine(stateAt)),
    paint.dim(taken === undefined ? '' : duration(taken)),
    paint.author(safeLine(agent ?? 'agent')),
    paint.state(state),
    safeLine(requestOf(task), TEXT_CHARACTERS),
    paint.dim(safeLine(text, TEXT_CHARACTERS)),
  ];
  return columns.filter((column) => column !== '').join('  ');
}

/** The task that delegated this one; undefined for one that a person began. */
function parentOf({ history }: TaskView): string | undefined {
  const marks = history.map(({ metadata }) => metadata?.[EXTENSIONS.chain]);
  const parent = marks.find(isJsonObject)?.['parentTaskId'];
  return typeof parent === 'string' ? parent : undefined;
}

/** The first text that the person sent. An approval has no text. */
function requestOf({ history }: TaskView): string {
  const said = history.filter(({ role }) => role === 'user').map(({ parts }) => textOf(parts));
  return said.find((words) => words !== '') ?? '';
}

function detailsOf(task: ListedTask, { flags, terminal }: Call<TaskFlags>): readonly string[] {
  const { paint, typed } = terminal;
  const { fork } = task;
  const row = (name: string, value: string): string => `${paint.dim(name.padEnd(8))} ${value}`;
  return [
    row('task', safeLine(task.id)),
    row('context', safeLine(task.contextId)),
    ...(fork ? [row('fork of', safeLine(`${fork.taskId} at event ${fork.seq}`))] : []),
    ...(task.agent === undefined ? [] : [row('agent', paint.author(safeLine(task.agent)))]),
    row('state', `${paint.state(task.state)} ${paint.dim(safeLine(task.stateAt ?? ''))}`),
    ...task.history.map(({ role, parts }) => row(role, safeText(textOf(parts)))),
    ...task.artifacts.map(({ name, id, parts }) => row(safeLine(name ?? id), safeText(textOf(parts)))),
    ...(task.text === '' ? [] : [row('says', safeText(task.text))]),
    ...task.questions.map((question) => questionText(question, paint)),
    ...replyCommands(task.id, task.questions, flags).map(typed),
  ];
}

function toJson({ stateAt, agent, ...task }: ListedTask) {
  return { ...task, agent: agent ?? null, stateAt: stateAt ?? null };
}

/** Finds a task and its agent by id, or by a beginning or end unique among the newest tasks. Rejects with `not-found`. */
export async function locateTask(connection: Connection, given: string, agent: string | undefined) {
  const alike = SHORT_ID.test(given) ? await tasksLike(connection, given, agent) : [];
  if (alike.length > 1) {
    const names = alike.map((task) => `${task.id} (${safeLine(requestOf(task), TEXT_CHARACTERS)})`);
    throw usageError(`Several tasks match ${safeLine(given)}: ${names.join(', ')}.`, GIVE_MORE);
  }
  return alike[0] ?? locateExactly(connection, given, agent);
}

/** The id of a conversation from a beginning or end of it. An unknown one stays as it is: callers may make their own. */
export async function contextOf(connection: Connection, given: string): Promise<string> {
  if (!SHORT_ID.test(given)) return given;
  const tasks = await searchedTasks(connection, undefined);
  if (tasks.some(({ contextId }) => contextId === given)) return given;
  const ids = new Set(tasks.map(({ contextId }) => contextId).filter((id) => isPartOf(given, id)));
  const [id = given, ...others] = ids;
  if (others.length === 0) return id;
  throw usageError(`Several conversations match ${given}: ${[...ids].join(', ')}.`, GIVE_MORE);
}

/** The number of newest tasks that are searched for a short id: a page of each agent. */
const SEARCHED_TASKS = 100;
const SHORT_ID = /^[0-9a-f-]{4,35}$/i;
const GIVE_MORE = 'Give more characters of its beginning or end.';

function isPartOf(given: string, id: string): boolean {
  return id.startsWith(given.toLowerCase()) || id.endsWith(given.toLowerCase());
}

/** The newest tasks whose id begins or ends with `given`; only one when an id is equal to it. */
async function tasksLike(connection: Connection, given: string, agent: string | undefined) {
  const tasks = await searchedTasks(connection, agent);
  const exact = tasks.find(({ id }) => id === given);
  if (exact) return [exact];
  const alike = tasks.filter(({ id }) => isPartOf(given, id));
  // A list has no artifacts.
  if (alike.length !== 1) return alike;
  const [{ id, agent: owner }] = alike as [ListedTask];
  const task = await ask(connection, connection.client.get({ taskId: id, agent: owner }), owner);
  return [{ ...task, agent: owner }];
}

/** Not every server lists its tasks: without a list an id must be whole. */
async function searchedTasks(connection: Connection, agent: string | undefined) {
  const reading = readTasks({ agent, limit: SEARCHED_TASKS }, connection);
  return reading.then(({ tasks }) => tasks).catch(() => []);
}

async function locateExactly(connection: Connection, taskId: string, agent: string | undefined) {
  const names = agent === undefined ? [undefined, ...(await agentNames(connection))] : [agent];
  let refused: unknown;
  for (const name of names) {
    try {
      return { ...(await connection.client.get({ taskId, agent: name })), agent: name };
    } catch (error) {
      const isElsewhere = isLangoError(error, 'not-found') || isLangoError(error, 'forbidden');
      if (!isElsewhere || names.length === 1) throw await explain(error, connection, name);
      if (error.code === 'forbidden') refused ??= error;
    }
  }
  if (refused !== undefined) throw await explain(refused, connection);
  const text = `There is no task ${safeLine(taskId)} of yours at ${connection.url}.`;
  throw new LangoError('not-found', text, { hint: 'See: lango tasks list' });
}

/** The name of the agent at the root, from its card; undefined when there is no such card to read. */
async function rootName({ client }: Connection): Promise<string | undefined> {
  const { name } = await client.card().catch(() => ({ name: undefined }));
  return typeof name === 'string' ? name : undefined;
}

/** The names of the agents of the server; empty when the server has no catalog. */
export async function agentNames(connection: Connection): Promise<readonly string[]> {
  try {
    return (await connection.client.catalog()).map(({ name }) => name);
  } catch (error) {
    if (isLangoError(error, 'not-found')) return [];
    throw await explain(error, connection);
  }
}
