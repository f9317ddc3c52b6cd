import { TaskState } from '@a2a-js/sdk';
import type { ClientReadableStream } from '@grpc/grpc-js';
import { Client, credentials } from '@grpc/grpc-js';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:http';
import { newId } from '../../../src/core/ids.js';
import { TOKEN } from '../../support/a2a-node.js';
import { sseEvents } from '../../support/a2a-requests.js';
import { besideStock } from './compare.js';
import { openGrpc } from '../../support/grpc-asked.js';
import type { Play } from './puppet.js';
import { worksUntilReleased } from './puppet.js';
import type { Side } from './sides.js';
import { ENDED, begin, message, orSilence, untilIn } from './sides.js';

/** The server's buffers for the readers of streams, and the events for a reader that comes back (3.2 #3 and #4). */

const { TASK_STATE_COMPLETED } = TaskState;
const HEARTBEAT_SECONDS = 0.1;
/** The server drops a reader that takes nothing after two heartbeats. */
const STALLED_MS = 10 * HEARTBEAT_SECONDS * 1_000;

/** More than the kernel buffers for a reader that does not read. */
const much: Play = ({ say }) => {
  say.open();
  for (let n = 0; n < 100; n += 1) say.text('x'.repeat(200_000));
  say.status(TASK_STATE_COMPLETED);
};

/** Waits until the task has ended and the server has dropped stalled readers, without reading the stream. */
async function lookAway(side: Side, contextId: string): Promise<void> {
  for (;;) {
    const [task] = (await side.rpc('ListTasks', { contextId })).json.result.tasks;
    if (task) {
      await untilIn(side, task.id, ...ENDED);
      return void (await new Promise((resolve) => setTimeout(resolve, STALLED_MS)));
    }
  }
}

function openHttp(side: Side, path: string, body: object = {}): Promise<IncomingMessage> {
  return new Promise((resolve) => {
    const headers = {
      Authorization: `Bearer ${TOKEN}`,
      'A2A-Version': '1.0',
      'Content-Type': 'application/json',
    };
    const asking = request(side.origin + path, { method: 'POST', headers }, resolve);
    asking.on('error', () => {}).end(JSON.stringify(body));
  });
}

/** Resumes reading and resolves with true when the stream ends, with false when it was cut. */
function endOf(stream: IncomingMessage | ClientReadableStream<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    stream.on('error', () => resolve(false));
    stream.on('end', () => resolve(true));
  });
}

besideStock(
  'streams and their readers',
  [
    {
      line: '3.2 #3 a reader that comes back after the end, or to another process, gets what it missed',
      agent: ({ say }) => {
        say.open();
        say.text('all of it');
        say.status(TASK_STATE_COMPLETED);
      },
      async ask(side) {
        const { text } = await side.http('/message:stream', { body: message('x') });
        const [first] = sseEvents(text);
        const { id } = first!.data.task;
        await side.restart();
        const headers = { 'Last-Event-ID': first!.id ?? '1' };
        const missed = sseEvents((await side.http(`/tasks/${id}:subscribe`, { headers })).text);
        const isMissing = !missed.some(({ data }) => 'artifactUpdate' in data);
        return { hasId: first!.id !== undefined, isMissing };
      },
      ours: { hasId: true, isMissing: false },
      stock: { hasId: false, isMissing: true },
    },
    {
      line: '3.2 #3 a subscriber at another process than the working one follows the task to its end',
      agent: worksUntilReleased,
      async ask(side) {
        const { id } = await begin(side);
        await untilIn(side, id, 'WORKING');
        const followed = side.elsewhere.http(`/tasks/${id}:subscribe`);
        await orSilence(followed, 200);
        side.puppet.release();
        const last = sseEvents((await followed).text).at(-1)!.data;
        await untilIn(side, id, ...ENDED);
        return (last.statusUpdate ?? last.task).status.state;
      },
      ours: 'TASK_STATE_COMPLETED',
      stock: 'TASK_STATE_WORKING',
    },
    {
      line: '3.2 #4 the buffer for a reader that takes nothing is bounded',
      agent: much,
      async ask(side) {
        const contextId = newId();
        const response = await openHttp(side, '/message:stream', message('x', { contextId }));
        const end = endOf(response);
        await lookAway(side, contextId);
        response.resume();
        return end;
      },
      ours: false,
      stock: true,
    },
    {
      line: '3.2 #4 over gRPC: the buffer for a reader that takes nothing is bounded',
      agent: much,
      async ask(side) {
        const contextId = newId();
        const client = new Client(side.grpcAddress, credentials.createInsecure());
        const params = { tenant: side.tenant, ...message('x', { contextId }) };
        const stream = openGrpc(client, { method: 'sendStreamingMessage', params });
        const end = endOf(stream);
        // The client library takes everything off the wire until the first event is read, and only then stops with its
        // reader.
        stream.once('data', () => stream.pause());
        await lookAway(side, contextId);
        stream.resume();
        await end;
        client.close();
        return end;
      },
      ours: false,
      stock: true,
    },
  ],
  { limits: { heartbeatSeconds: HEARTBEAT_SECONDS } },
);

/** Opens more concurrent streams on one task than the limit allows, and compares their HTTP statuses. */
besideStock(
  'streams of one caller',
  [
    {
      line: '3.2 #4 a caller has a limited number of streams, and a closed stream makes room for another',
      agent: worksUntilReleased,
      async ask(side) {
        const { id } = await begin(side);
        await untilIn(side, id, 'WORKING');
        const open = () => openHttp(side, `/tasks/${id}:subscribe`);
        const [first, second, third] = [await open(), await open(), await open()];
        const served = [first, second, third].map(({ statusCode }) => statusCode);
        first.destroy();
        let next = await open();
        while (next.statusCode === 429) next = await open();
        side.puppet.release();
        for (const stream of [second, third, next]) stream.destroy();
        return served;
      },
      ours: [200, 200, 429],
      stock: [200, 200, 200],
    },
  ],
  { limits: { streamsPerCaller: 2 } },
);
