import { setImmediate as nextTurn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { TaskView } from '../../src/a2a/client/client.js';
import { newId } from '../../src/core/ids.js';
import { listIn, objectIn, textIn, type JsonObject } from '../../src/core/json.js';
import { textPart, type Part } from '../../src/core/message.js';
import type { ServerOptions, Tool } from '../../src/index.js';
import { holdTime } from '../support/held-time.js';
import { API_KEY } from '../support/model-wire.js';
import { events, ScriptedServer, status, type Reply } from '../support/scripted-server.js';
import { sendParts, startServer, type Outcome, type TestServer } from '../support/server.js';
import { refusalBody, RULES, type VendorRule } from './vendor-rules.js';
import { streamOf, type ModelWireName, type VendorAnswer } from './vendor-streams.js';

type Settings = NonNullable<ServerOptions['settings']>;
type ModelSettings = NonNullable<Settings['model']>;

/** A request that the vendor got. */
export interface Sent {
  readonly wire: ModelWireName;
  /** The name of the model. */
  readonly model: string;
  readonly body: JsonObject;
  /** Counts the requests of one `ask`, from 0. */
  readonly n: number;
}

/** The response of the vendor: an output, the text of a stream, a response with a status, or whatever a `Reply` writes. */
export type VendorResponse =
  | VendorAnswer
  | { readonly stream: string }
  | { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> }
  | Reply;

export interface Asking {
  readonly wire: ModelWireName;
  /** By the request, or in order; the last one is repeated. */
  readonly answers: readonly VendorResponse[] | ((request: Sent) => VendorResponse);
  /** The refusals of this vendor besides those of the vendor that defined the wire. */
  readonly rules?: readonly VendorRule[];
  /** Default: "hello". */
  readonly message?: string | readonly Part[];
  /** The conversation to continue. Default: a new one. */
  readonly contextId?: string;
  /** Further settings of the model, such as `fallbacks: [{ name: 'other' }]`. */
  readonly model?: ModelSettings;
  /** Further settings of the server. Servers with equal settings are shared. */
  readonly settings?: Settings;
  /** Tools of the test besides the shipped ones. */
  readonly tools?: readonly Tool[];
}

/** The end of a task, and the requests that the vendor was sent. */
export interface Told {
  readonly state: string;
  /** The text of the answer, or the reason of a failure. */
  readonly text: string;
  readonly outcome: Outcome;
  readonly contextId: string;
  readonly requests: readonly Sent[];
  /** The reasons why the strict vendor refused requests. */
  readonly refused: readonly string[];
  /** The results of the calls in the last request, in order. */
  readonly results: readonly string[];
  /** The task as the server has it: its artifacts, and the message of its end. */
  task(): Promise<TaskView>;
}

/** The servers that the cases of one test file share. They start with the first case that needs them. */
let vendor: Promise<ScriptedServer> | undefined;
const servers = new Map<string, Promise<TestServer>>();

/** Ends the servers of this test file. */
export async function closeStage(): Promise<void> {
  await Promise.all([...servers.values()].map(async (server) => (await server).stop()));
  servers.clear();
  await (await vendor)?.[Symbol.asyncDispose]();
  vendor = undefined;
}

/** Sends a message to a Lango server in front of a vendor that refuses what the real one refuses, and waits for its end. */
export async function ask(asking: Asking): Promise<Told> {
  const { answers, rules = [], message = 'hello', contextId = newId() } = asking;
  const far = await (vendor ??= ScriptedServer.open());
  const server = await serverFor(asking, far.url);
  const requests: Sent[] = [];
  const refused: string[] = [];
  far.willAlwaysReply((response, { path, body }) => {
    const wire = wireOf(path);
    const request = { wire, model: textIn(body.model), body, n: requests.length };
    requests.push(request);
    const reason = [...RULES[wire], ...rules].map((rule) => rule(body)).find((found) => found !== undefined);
    if (reason !== undefined) refused.push(reason);
    const answer =
      typeof answers === 'function' ? answers(request) : answers[Math.min(request.n, answers.length - 1)]!;
    const reply = reason === undefined ? replyOf(wire, answer) : status(400, refusalBody(wire, reason));
    return reply(response, { path, body, headers: {}, abandoned: new Promise(() => {}) });
  });
  const parts = typeof message === 'string' ? [textPart(message)] : message;
  const send = () => sendParts(server, { parts, contextId });
  const outcome = await (asking.model?.maxRetries ? withoutWaits(server, send) : send());
  const last = requests.at(-1);
  return {
    ...{ outcome, requests, refused, contextId },
    ...{ state: outcome.end.state, text: outcome.end.text },
    results: last ? resultsIn(last) : [],
    task: () => server.client.get({ taskId: outcome.taskId }),
  };
}

/** The text of the answer that the task holds at its end. */
export async function answerIn(told: Told): Promise<string> {
  const { artifacts } = await told.task();
  return artifacts
    .flatMap(({ parts }) => parts)
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('');
}

/** Holds the time, and lets it pass at once whenever a model call waits for its next attempt. */
async function withoutWaits<Result>({ log }: TestServer, work: () => Promise<Result>): Promise<Result> {
  using _held = holdTime();
  let seen = log.lines.length;
  let isOver = false;
  const result = work().finally(() => (isOver = true));
  while (!isOver) {
    for (const line of log.lines.slice(seen)) {
      const { delayMs = 0 } = JSON.parse(line) as { readonly delayMs?: number };
      if (delayMs > 0) jest.advanceTimersByTime(delayMs + 1);
    }
    seen = log.lines.length;
    await nextTurn();
  }
  return result;
}

function serverFor({ wire, model, settings, tools = [] }: Asking, url: string): Promise<TestServer> {
  const all: Settings = {
    server: { port: 0 },
    approval: { policy: 'none' },
    tools: { fs: { enabled: true }, crypto: { enabled: true } },
    ...settings,
    agent: { multiAgent: false, ...settings?.agent },
    model: { ...modelOf(wire, url), ...model },
  };
  const key = JSON.stringify([all, tools.map(({ name }) => name)]);
  const open = servers.get(key) ?? startServer({ settings: all, tools });
  servers.set(key, open);
  return open;
}

/** The settings of a model of the vendor over this wire. */
function modelOf(wire: ModelWireName, url: string): ModelSettings {
  const common = { name: 'm', apiKey: API_KEY, maxRetries: 0 };
  if (wire === 'Messages') return { ...common, provider: 'anthropic', baseUrl: url };
  return {
    ...common,
    provider: 'openai',
    baseUrl: `${url}/v1`,
    api: wire === 'Responses' ? 'responses' : 'chat',
  };
}

function wireOf(path: string): ModelWireName {
  if (path.includes('/messages')) return 'Messages';
  return path.includes('/responses') ? 'Responses' : 'Chat Completions';
}

function replyOf(wire: ModelWireName, answer: VendorResponse): Reply {
  if (typeof answer === 'function') return answer;
  if ('status' in answer) return status(answer.status, answer.body, answer.headers);
  return events('stream' in answer ? answer.stream : streamOf(wire, answer));
}

/** The texts of all results in a request, in order. */
function resultsIn({ wire, body }: Sent): readonly string[] {
  if (wire === 'Responses') {
    const items = listIn(body.input).map(objectIn);
    return items.filter(({ type }) => type === 'function_call_output').map(({ output }) => said(output));
  }
  const messages = listIn(body.messages).map(objectIn);
  if (wire === 'Chat Completions')
    return messages.filter(({ role }) => role === 'tool').map(({ content }) => said(content));
  const blocks = messages.flatMap(({ content }) => listIn(content).map(objectIn));
  return blocks.filter(({ type }) => type === 'tool_result').map(({ content }) => said(content));
}

const said = (content: unknown): string =>
  textIn(content) ||
  listIn(content)
    .map((part) => textIn(objectIn(part).text))
    .join('\n');
