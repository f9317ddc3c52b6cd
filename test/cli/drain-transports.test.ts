import { describe, expect, it } from '@jest/globals';
import type { StreamResponse, Task } from '@a2a-js/sdk';
import { TaskState } from '@a2a-js/sdk';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fromWireError } from '../../src/a2a/translate/errors.js';
import { seqIn } from '../../src/a2a/translate/extensions.js';
import { request } from '../suites/a2a-operations.js';
import { remoteWaysTo } from '../support/a2a-transports.js';
import { makeHome, startServer } from './lango-process.js';

/** A command that takes longer than the test waits for: the stream is open when the signal comes. */
const ORDER = 'run sleep 30';
const ROOT = 'lango-orchestrator';

describe('lango serve, told to stop over three transports', () => {
  it('tells the streams of every transport, and each goes on from its cursor after the next start', async () => {
    const home = await makeHome(
      'server: { grpc: { enabled: true, port: 0 }, limits: { drainSeconds: 3 } }\napproval: { policy: none }\n',
    );
    const server = await startServer(home);
    const token = (await readFile(path.join(home.folder, 'token'), 'utf8')).trim();
    const streams = await Promise.all(
      (await remoteWaysTo(server.origin, ROOT)).map(async (way) => {
        const { name, transport } = way;
        const events = transport.sendMessageStream(request(ORDER), way.options({ token }));
        const first = (await events.next()).value as StreamResponse;
        const begun = await readOn(events, (event) => JSON.stringify(event).includes('tool-call'));
        return { name, events, begun, id: (first.payload!.value as Task).id };
      }),
    );
    const stopped = server.stop();
    const told = new Map<string, { readonly id: string; readonly after: number }>();
    const ends = await Promise.all(
      streams.map(async ({ name, events, begun, id }) => {
        const { seen, end } = await readOn(events);
        told.set(name, { id, after: cursorOf([...begun.seen, ...seen].at(-1)!) });
        return [name, end];
      }),
    );
    expect(ends).toEqual([
      ['JSONRPC', 'end'],
      ['HTTP+JSON', 'end'],
      ['GRPC', 'unavailable'],
    ]);
    expect((await stopped).code).toBe(0);

    const again = await startServer(home);
    try {
      for (const way of await remoteWaysTo(again.origin, ROOT)) {
        const { name, transport } = way;
        const { id, after } = told.get(name)!;
        const events = transport.resubscribeTask({ tenant: '', id }, way.options({ token, after }));
        // The command may have run: that is what the next process finds out, and asks about.
        const { seen, end } = await readOn(events, asks);
        expect([name, end]).toEqual([name, 'found']);
        expect(cursorOf(seen[0]!)).toBeGreaterThan(after);
      }
    } finally {
      await again.stop();
      await home.remove();
    }
  });
});

function asks({ payload }: StreamResponse): boolean {
  return (
    payload?.$case === 'statusUpdate' && payload.value.status?.state === TaskState.TASK_STATE_INPUT_REQUIRED
  );
}

/** What comes up to the one that is looked for, and how it ends: that it was found, the code of an error, or just the end. */
async function readOn(
  events: AsyncGenerator<StreamResponse, void, undefined>,
  isLast: (event: StreamResponse) => boolean = () => false,
) {
  const seen: StreamResponse[] = [];
  try {
    for (;;) {
      const { done, value } = await events.next();
      if (done) return { seen, end: 'end' };
      seen.push(value);
      if (isLast(value)) return { seen, end: 'found' };
    }
  } catch (error) {
    return { seen, end: fromWireError(error).code };
  }
}

function cursorOf({ payload }: StreamResponse): number {
  return seqIn(payload!.value.metadata)!;
}
