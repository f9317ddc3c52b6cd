import { describe, expect, it } from '@jest/globals';
import { StreamResponse } from '@a2a-js/sdk';
import { Client, credentials } from '@grpc/grpc-js';
import { request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXTENSIONS, OUR_EXTENSIONS } from '../../src/core/extensions.js';
import type { Run, RunEnd } from '../../src/core/run.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { openGrpc } from '../support/grpc-asked.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import type { TestServer } from '../support/server.js';
import { withServer } from '../support/server.js';

/**
 * A client whose connection breaks after any byte of a send or a subscription, and that resumes with the message id or
 * the cursor, misses nothing and gets nothing twice.
 */

const CUTS = process.env['LANGO_CAMPAIGN'] === '1' ? 1_000 : 30;
const SEED = Number(process.env['LANGO_CUTS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** More than the head of a response with a few events, so that most connections advance the reader. */
const MAX_BYTES = 6_000;
const CHUNKS = 40;
const MAX_TASKS = 200;

const TRANSPORTS = ['JSON-RPC', 'HTTP+JSON', 'gRPC'] as const;
type Transport = (typeof TRANSPORTS)[number];

/** A linear congruential generator: the same seed gives the same cuts. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
}

/** An agent that says the numbers from 0 on, does some work between them, and pauses now and then. */
async function count(run: Run): Promise<RunEnd> {
  for (let at = 0; at < CHUNKS; at += 1) {
    if (at % 7 === 3)
      await run.append({ type: 'activity', activity: { type: 'text', text: `at ${at}, über €` } });
    await run.append({ type: 'text-delta', artifactId: 'answer', text: `<${at}>`, replace: at === 0 });
    if (at % 5 === 0) await sleep(3);
  }
  return { state: 'completed' };
}

/** An agent that says the numbers as a model writes them: they are shown before they are durable. */
async function speak(run: Run): Promise<RunEnd> {
  for (let at = 0; at < CHUNKS; at += 1) {
    run.emit({ type: 'text-delta', artifactId: 'answer', text: `<${at}>`, replace: at === 0 });
    run.emit({ ...COMMENT, text: `(${at})`, replace: at === 0 });
    if (at % 2 === 0) await sleep(4);
    if (at === 25) await sleep(70);
    if (at % 16 === 9) run.emit({ type: 'activity', activity: { type: 'text', text: `at ${at}` } });
  }
  return { state: 'completed' };
}

const COMMENT = { type: 'text-delta', artifactId: 'comment', isMessage: true } as const;
const NUMBERS = Array.from({ length: CHUNKS }, (_, at) => at);

interface Update {
  readonly task?: { readonly artifacts?: readonly SaidIn[] };
  readonly artifactUpdate?: { readonly artifact: SaidIn; readonly append?: boolean };
  readonly statusUpdate?: {
    readonly metadata?: Readonly<Record<string, { readonly activity?: Partial<Record<string, unknown>> }>>;
  };
}
type SaidIn = { readonly parts?: readonly { readonly text?: string }[] };

/** The answer and the comment as a client has them after each event. */
function textsAfter(seen: readonly Event[]): readonly [answer: string, comment: string][] {
  let answer = '';
  let comment = '';
  return seen.map(({ json }) => {
    const { task, artifactUpdate, statusUpdate } = json as Update;
    const said = task ? (task.artifacts?.[0] ?? {}) : artifactUpdate?.artifact;
    const text = said?.parts?.map((part) => part.text ?? '').join('') ?? '';
    if (said) answer = artifactUpdate?.append ? answer + text : text;
    const { activity } = statusUpdate?.metadata?.[EXTENSIONS.author] ?? {};
    if (activity?.['id'] !== undefined)
      comment = activity['replace'] ? String(activity['text']) : `${comment}${String(activity['text'])}`;
    return [answer, comment];
  });
}

interface Event {
  /** Undefined for live text. */
  readonly seq: number | undefined;
  readonly json: object;
}

interface Place {
  readonly server: TestServer;
  readonly transport: Transport;
  readonly port: number;
}

type Asked = { readonly message: object } | { readonly taskId: string; readonly after?: number };

/** Yields the whole events of a connection, until the stream ends or breaks. */
function events(place: Place, asked: Asked): AsyncGenerator<Event> {
  return place.transport === 'gRPC' ? overGrpc(place, asked) : overHttp(place, asked);
}

async function* overGrpc({ server, port }: Place, asked: Asked): AsyncGenerator<Event> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.enable_retries': 0 });
  const after = 'taskId' in asked ? asked.after : undefined;
  const stream = openGrpc(client, {
    ...('message' in asked
      ? { method: 'sendStreamingMessage', params: { tenant: 'counter', message: asked.message } }
      : { method: 'subscribeToTask', params: { tenant: 'counter', id: asked.taskId } }),
    token: server.address.token!,
    headers: {
      'a2a-extensions': OUR_EXTENSIONS.join(','),
      ...(after === undefined ? {} : { 'last-event-id': String(after) }),
    },
  });
  try {
    for await (const said of stream) {
      const json = StreamResponse.toJSON(said as StreamResponse) as object;
      const [value] = Object.values(json) as {
        readonly metadata?: Record<string, { readonly seq: number }>;
      }[];
      yield { seq: value!.metadata?.[EXTENSIONS.cursor]?.seq, json };
    }
  } catch {
    // Cut, or the task has ended.
  } finally {
    client.close();
  }
}

async function* overHttp({ server, transport, port }: Place, asked: Asked): AsyncGenerator<Event> {
  const isRpc = transport === 'JSON-RPC';
  const [method, path, params] =
    'message' in asked
      ? ['SendStreamingMessage', '/message:stream', { message: asked.message }]
      : ['SubscribeToTask', `/tasks/${asked.taskId}:subscribe`, { id: asked.taskId }];
  const after = 'taskId' in asked ? asked.after : undefined;
  const sent = httpRequest({
    ...{ port, host: '127.0.0.1', method: 'POST', agent: false },
    path: `/agents/counter${isRpc ? '' : path}`,
    headers: {
      authorization: `Bearer ${server.address.token}`,
      'content-type': 'application/json',
      'a2a-version': '1.0',
      'a2a-extensions': OUR_EXTENSIONS.join(','),
      ...(after === undefined ? {} : { 'last-event-id': String(after) }),
    },
  });
  sent.end(JSON.stringify(isRpc ? { jsonrpc: '2.0', id: 1, method, params } : params));
  const body = await new Promise<AsyncIterable<Buffer> | undefined>((resolve) => {
    sent.on('response', resolve);
    sent.on('error', () => resolve(undefined));
  });
  let text = Buffer.alloc(0);
  try {
    for await (const chunk of body ?? []) {
      text = Buffer.concat([text, chunk]);
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const event = eventIn(text.subarray(0, end).toString(), isRpc);
        text = text.subarray(end + 2);
        if (event) yield event;
      }
    }
  } catch {
    // Cut.
  } finally {
    sent.destroy();
  }
}

function eventIn(block: string, isRpc: boolean): Event | undefined {
  const id = /^id: (\d+)$/m.exec(block)?.[1];
  const data = /^data: (.*)$/m.exec(block)?.[1];
  if (data === undefined) return undefined;
  const json = JSON.parse(data) as { readonly result?: object };
  return { seq: id === undefined ? undefined : Number(id), json: isRpc ? json.result! : json };
}

const isEnd = ({ json }: Event): boolean => JSON.stringify(json).includes('TASK_STATE_COMPLETED');

/**
 * Follows one task as a client does that resumes after each cut, by the message id and then by its cursor, if it has
 * one.
 */
async function follow(
  place: Place,
  hasCursor: boolean,
  order = 'count',
): Promise<{ taskId: string; seen: Event[] }> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: order }] };
  const seen: Event[] = [];
  let taskId: string | undefined;
  for (let tries = 0; tries < 1_000; tries += 1) {
    const after = hasCursor ? { after: seen.findLast(({ seq }) => seq !== undefined)?.seq ?? 0 } : {};
    for await (const event of events(place, taskId === undefined ? { message } : { taskId, ...after })) {
      if ('task' in event.json) taskId ??= (event.json.task as { readonly id: string }).id;
      seen.push(event);
    }
    if (seen.some(isEnd) && taskId !== undefined) return { taskId, seen };
    // Without a cursor the client may miss the end: the task has ended and cannot be followed.
    if (!hasCursor && taskId !== undefined && tries > 100) return { taskId, seen };
  }
  throw new Error(`the task did not end for its reader (seed ${SEED})`);
}

/** The events of an undisturbed client: those that the server replays for the task. */
async function replay(server: TestServer, taskId: string): Promise<Event[]> {
  const whole: Event[] = [];
  const place: Place = { server, transport: 'HTTP+JSON', port: Number(new URL(server.address.origin).port) };
  for await (const event of events(place, { taskId, after: 0 })) whole.push(event);
  return whole;
}

const numbers = (all: readonly Event[]) => all.map(({ seq }) => seq);
const withoutSnapshot = (all: readonly Event[]): Event[] => all.filter(({ json }) => !('task' in json));

function withCuts(
  transport: Transport,
  bytes: () => number,
  use: (place: Place, proxy: CuttingProxy) => Promise<void>,
): Promise<void> {
  const options = {
    agents: [scriptedAgent('counter', (run, order) => (order === 'speak' ? speak(run) : count(run)))],
    settings: { server: { port: 0, grpc: { enabled: true, port: 0 } } },
  };
  return withServer(options, async (server) => {
    const { origin, grpcPort } = server.address;
    const target = transport === 'gRPC' ? grpcPort! : Number(new URL(origin).port);
    await using proxy = await CuttingProxy.open(target, bytes);
    await use({ server, transport, port: proxy.port }, proxy);
  });
}

describe.each(TRANSPORTS)('a client over %s', (transport) => {
  const cuts = Math.ceil(CUTS / TRANSPORTS.length);

  it(`misses nothing and gets nothing twice in ${cuts} cuts (seed ${SEED})`, async () => {
    const random = randomNumbers(SEED);
    await withCuts(
      transport,
      () => 1 + Math.floor(random() * MAX_BYTES),
      async (place, proxy) => {
        let tasks = 0;
        for (; proxy.cuts < cuts && tasks < MAX_TASKS; tasks += 1) {
          const { taskId, seen } = await follow(place, true);
          const whole = await replay(place.server, taskId);
          expect(numbers(withoutSnapshot(seen))).toEqual(numbers(whole));
          expect(withoutSnapshot(seen)).toEqual(whole);
          const text = JSON.stringify(whole.map(({ json }) => json)).match(/(?<=")<\d+>(?=")/g)!;
          expect(text).toEqual(Array.from({ length: CHUNKS }, (_, at) => `<${at}>`));
        }
        expect(proxy.cuts).toBeGreaterThanOrEqual(cuts);
        const listed = (await (await place.server.fetch('/agents/counter/tasks')).json()) as {
          readonly totalSize: number;
        };
        // A send that was cut before its response, and was repeated, made no second task.
        expect(listed.totalSize).toBe(tasks);
      },
    );
  }, 300_000);

  it(`has neither too little nor too much of a live text in ${cuts} cuts (seed ${SEED})`, async () => {
    const random = randomNumbers(SEED);
    const [answer, comment] = [NUMBERS.map((at) => `<${at}>`), NUMBERS.map((at) => `(${at})`)].map((said) =>
      said.join(''),
    );
    let live = 0;
    await withCuts(
      transport,
      () => 1 + Math.floor(random() * MAX_BYTES),
      async (place, proxy) => {
        for (let tasks = 0; proxy.cuts < cuts && tasks < MAX_TASKS; tasks += 1) {
          const { taskId, seen } = await follow(place, true, 'speak');
          const texts = textsAfter(seen);
          expect(texts.filter(([said]) => !answer!.startsWith(said))).toEqual([]);
          expect(texts.filter(([, said]) => !comment!.startsWith(said))).toEqual([]);
          expect(texts.at(-1)).toEqual([answer, comment]);
          live += seen.filter(({ seq }) => seq === undefined).length;
          const whole = await replay(place.server, taskId);
          expect(textsAfter(whole).at(-1)).toEqual([answer, comment]);
          const numbered = withoutSnapshot(seen).filter(({ seq }) => seq !== undefined);
          expect(numbers(numbered)).toEqual(numbers(whole));
        }
      },
    );
    expect(live).toBeGreaterThan(0);
  }, 300_000);

  it('misses events without a cursor, which proves that the cuts are real', async () => {
    const random = randomNumbers(7);
    await withCuts(
      transport,
      () => 1_500 + Math.floor(random() * 2_500),
      async (place) => {
        let missed = 0;
        for (let task = 0; task < 10 && missed === 0; task += 1) {
          const { taskId, seen } = await follow(place, false);
          const got = new Set(numbers(seen));
          missed = numbers(await replay(place.server, taskId)).filter((seq) => !got.has(seq)).length;
        }
        expect(missed).toBeGreaterThan(0);
      },
    );
  });
});
