import { TaskState as WireState, type Task } from '@a2a-js/sdk';
import type { RequestOptions, Transport } from '@a2a-js/sdk/client';
import { serverUrl } from '../../core/card.js';
import { LangoError } from '../../core/errors.js';
import { newId } from '../../core/ids.js';
import type { ForkPlace } from '../../core/fork.js';
import { defined, objectsIn, textIn, type JsonObject } from '../../core/json.js';
import { textOf, type Part, type Artifact, type Message } from '../../core/message.js';
import type { TaskState, Question } from '../../core/task.js';
import { CARD_TYPE, CATALOG_PATHS } from '../translate/catalog.js';
import { toWireState, fromWireArtifact, fromWireMessage, fromWireState } from '../translate/content.js';
import { fromWireError } from '../translate/errors.js';
import { forkIn } from '../translate/extensions.js';
import { fetchCard } from './card.js';
import { tokenCredential } from '../../core/credential.js';
import { inFormOf, questionsInSnapshot, typedQuestions } from './foreign-question.js';
import type { WireLink } from './link.js';
import { openRemote, type LoadOptions } from './load.js';
import { createOriginFetch } from '../../core/origin-fetch.js';
import { TaskReader, type ClientEvent } from './reader.js';
import { DEFAULT_RETRY, watchTask, type RetryRules, type Watch } from './watch.js';
import { requestOptions } from './wire-tasks.js';

export interface ClientOptions extends Pick<LoadOptions, 'fetch' | 'grpc' | 'binding' | 'retry'> {
  /** The address of a Lango server, or of any A2A agent. */
  readonly url: string;
  readonly token?: string;
}

export interface SendRequest {
  readonly parts: readonly Part[];
  /** The same id again finds the task that it began, on a server of Lango: nothing is done twice. Default: a new one. */
  readonly messageId?: string;
  /** The conversation to continue. Default: a new one. */
  readonly contextId?: string;
  /** The task that the message replies to or follows up on. */
  readonly taskId?: string;
  /** The questions of the task that the parts reply to. Each reply is sent in the form that its question asks for. */
  readonly questions?: readonly Question[];
  /** The name of an agent of the server. Default: the agent at `url`. */
  readonly agent?: string;
}

interface ListRequest {
  readonly agent?: string;
  readonly contextId?: string;
  readonly state?: TaskState;
  /** The earliest time of the state, in milliseconds since the epoch. */
  readonly since?: number;
  /** 1 to 100. */
  readonly pageSize?: number;
  readonly pageToken?: string;
  /** The number of newest messages to include for each task. Default: none. */
  readonly historyLength?: number;
}

interface TaskList {
  readonly tasks: readonly TaskView[];
  /** Empty at the end. */
  readonly nextPageToken: string;
  readonly totalSize: number;
}

interface CatalogEntry {
  readonly name: string;
  readonly description: string;
  /** The address of the card; undefined when the catalog holds the card itself. */
  readonly url: string | undefined;
}

interface TaskRef {
  readonly taskId: string;
  readonly agent?: string;
}

/**
 * A client of one server. Streams never throw, end with exactly one `end`, and survive dropped connections and restarts
 * of the server. Aborting with a `LangoError` of code `canceled` cancels the task; any other reason only stops watching.
 * The other calls throw `LangoError`s.
 */
export interface AgentClient {
  send(request: SendRequest, signal: AbortSignal): AsyncIterable<ClientEvent>;
  /** Watches a task from its current state, or from after the event with the given `seq`. */
  subscribe(task: TaskRef & { readonly after?: number }, signal: AbortSignal): AsyncIterable<ClientEvent>;
  get(task: TaskRef): Promise<TaskView>;
  list(request: ListRequest): Promise<TaskList>;
  cancel(task: TaskRef): Promise<TaskView>;
  /** The agent card as it is served. */
  card(agent?: string): Promise<JsonObject>;
  catalog(): Promise<readonly CatalogEntry[]>;
}

const MAX_BYTES = 1024 * 1024;
const CALL_MS = 30_000;
/** The history length of `get`: servers of the SDK's 0.3 line send no history without one. */
const MAX_MESSAGES = 10_000;

export function createClient(options: ClientOptions): AgentClient {
  return new Client(options);
}

class Client implements AgentClient {
  readonly #options: ClientOptions;
  readonly #retry: RetryRules;
  readonly #links = new Map<string, Promise<WireLink>>();

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#retry = { ...DEFAULT_RETRY, ...options.retry };
  }

  async *send(request: SendRequest, signal: AbortSignal): AsyncGenerator<ClientEvent, void, undefined> {
    const { contextId = '', taskId = '', agent, questions = [], messageId: id = newId() } = request;
    const parts = inFormOf(questions, request.parts);
    const reader = new TaskReader({
      agent: agent ?? 'agent',
      taskId: taskId || undefined,
      contextId: contextId || undefined,
      isReply: taskId !== '',
    });
    const message = { id, role: 'user', parts } as const;
    yield* this.#watch(agent, { reader, signal, request: { message, taskId, contextId } });
  }

  async *subscribe(
    task: TaskRef & { readonly after?: number },
    signal: AbortSignal,
  ): AsyncGenerator<ClientEvent, void, undefined> {
    const { taskId, agent, after } = task;
    const reader = new TaskReader({ agent: agent ?? 'agent', taskId });
    yield* this.#watch(agent, { reader, signal, ...defined({ after }) });
  }

  async get({ taskId, agent }: TaskRef): Promise<TaskView> {
    const ask = (historyLength?: number): Promise<Task> =>
      this.#call(agent, (to, options) => to.getTask({ tenant: '', id: taskId, historyLength }, options));
    const task = await ask(MAX_MESSAGES).catch((error: unknown) => {
      // LangGraph refuses more than ten.
      if (/historyLength/.test(fromWireError(error).message)) return ask();
      throw error;
    });
    return toTaskView(task);
  }

  async list(request: ListRequest): Promise<TaskList> {
    const { agent, contextId = '', state, since, pageSize, pageToken = '', historyLength = 0 } = request;
    const query = {
      ...{ tenant: '', contextId, pageSize, pageToken, historyLength },
      status: state ? toWireState(state) : WireState.TASK_STATE_UNSPECIFIED,
      statusTimestampAfter: since === undefined ? undefined : new Date(since).toISOString(),
    };
    const page = await this.#call(agent, (to, options) => to.listTasks(query, options));
    const { tasks, nextPageToken, totalSize } = page;
    return { tasks: tasks.map(toTaskView), nextPageToken, totalSize };
  }

  async cancel({ taskId, agent }: TaskRef): Promise<TaskView> {
    const request = { tenant: '', id: taskId, metadata: undefined };
    return toTaskView(await this.#call(agent, (to, options) => to.cancelTask(request, options)));
  }

  card(agent?: string): Promise<JsonObject> {
    return this.#fetchJson(this.#cardUrl(agent));
  }

  async catalog(): Promise<readonly CatalogEntry[]> {
    const json = await this.#fetchJson(serverUrl(this.#options.url, CATALOG_PATHS.aiCatalog).href);
    return objectsIn(json['entries']).flatMap(toCatalogEntry);
  }

  async *#watch(
    agent: string | undefined,
    { reader, ...given }: Pick<Watch, 'reader' | 'signal' | 'request' | 'after'>,
  ): AsyncGenerator<ClientEvent, void, undefined> {
    let link: WireLink;
    try {
      link = await this.#link(agent);
    } catch (error) {
      yield reader.giveUp('failed', fromWireError(error).message);
      return;
    }
    yield* watchTask({ link, reader, scope: undefined, retry: this.#retry, ...given });
  }

  async #call<T>(agent: string | undefined, call: TransportCall<T>): Promise<T> {
    try {
      const link = await this.#link(agent);
      const options = await requestOptions(link, { scope: undefined, signal: AbortSignal.timeout(CALL_MS) });
      return await call(link.transport, options);
    } catch (error) {
      throw fromWireError(error);
    }
  }

  /** Opens a link once per agent. A failed attempt is not kept. */
  #link(agent = ''): Promise<WireLink> {
    const known = this.#links.get(agent);
    if (known) return known;
    const { token, fetch: fetchImpl, grpc, binding } = this.#options;
    const source = { url: this.#cardUrl(agent), ...(token === undefined ? {} : { token }) };
    const connect = { fetch: fetchImpl, binding, relocate: true, ...(grpc && { grpc }) };
    const link = openRemote(source, connect).then((open) => open.link);
    this.#links.set(agent, link);
    link.catch(() => this.#links.delete(agent));
    return link;
  }

  #cardUrl(agent = ''): string {
    const { url } = this.#options;
    return agent === '' ? url : serverUrl(url, `/agents/${encodeURIComponent(agent)}`).href;
  }

  async #fetchJson(url: string): Promise<JsonObject> {
    const { origin } = new URL(url);
    const { token, fetch: send } = this.#options;
    const bound = createOriginFetch({ fetch: send, origin, credential: tokenCredential(token) });
    const signal = AbortSignal.timeout(CALL_MS);
    try {
      return (await fetchCard({ url, fetch: bound, maxBytes: MAX_BYTES, signal })).json;
    } catch (error) {
      throw fromWireError(error);
    }
  }
}

type TransportCall<T> = (to: Transport, options: RequestOptions) => Promise<T>;

/** Reads an entry of a catalog. Its media type is in `type`, or in `mediaType`, the older name. */
function toCatalogEntry(entry: JsonObject): readonly CatalogEntry[] {
  if ((entry['type'] ?? entry['mediaType']) !== CARD_TYPE) return [];
  const { displayName, description, url } = entry;
  if (typeof displayName !== 'string') return [];
  const card = typeof url === 'string' ? url : undefined;
  return [{ name: displayName, description: textIn(description), url: card }];
}

export interface TaskView {
  readonly id: string;
  readonly contextId: string;
  readonly state: TaskState;
  /** The time of the state (ISO 8601); undefined when the server does not send it. */
  readonly stateAt: string | undefined;
  /** The reason, or the question; empty when there is none. */
  readonly text: string;
  readonly questions: readonly Question[];
  readonly artifacts: readonly Artifact[];
  readonly history: readonly Message[];
  /** The task whose first events a fork shares, and their number. Undefined for other tasks. */
  readonly fork?: ForkPlace;
}

/** Throws `invalid-agent-response` for a task without id or state. */
function toTaskView(task: Task): TaskView {
  const { id } = task;
  const state = task.status && fromWireState(task.status.state);
  if (!state || id === '')
    throw new LangoError('invalid-agent-response', 'The server sent a task without id or state.');
  const parts = task.status?.message ? fromWireMessage(task.status.message).parts : [];
  const history = task.history.map(fromWireMessage);
  const artifacts = task.artifacts.map(fromWireArtifact);
  const isAsking = state === 'input-required';
  const questions = isAsking ? questionsInSnapshot({ id, history, artifacts }, parts) : typedQuestions(parts);
  const { contextId, status } = task;
  return {
    id,
    contextId,
    state,
    stateAt: status?.timestamp,
    text: textOf(parts),
    questions,
    artifacts,
    history,
    ...defined({ fork: forkIn(task.metadata) }),
  };
}
