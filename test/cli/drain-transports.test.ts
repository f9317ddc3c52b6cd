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

/** A command that outlasts the test: the stream is open when the signal comes. */
const ORDER = 'run sleep 30';
const ROOT = 'lango-orchestrator';

describe('lango serve that stops with streams over three transports', () => {
  it('ends the streams of every transport, and each resumes from its cursor after the next start', async () => {
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
        // The command may have run. The next process finds the unknown outcome, and asks about it.
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

/**
 * Reads the events up to the matching one. Returns them with the reason of the end: found, the code of an error, or the
 * end of the stream.
 */
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
