import { afterEach, describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { RefreshingDirectory } from '../../../src/a2a/client/directory.js';
import type { PeerRequest } from '../../../src/core/agent.js';
import { newId } from '../../../src/core/ids.js';
import { textPart } from '../../../src/core/message.js';
import type { Logger } from '../../../src/core/logger.js';
import { silentLogger } from '../../../src/core/logger.js';
import { createEgress } from '../../../src/http/egress.js';
import { freePort } from '../../support/free-port.js';
import { unheld } from '../../support/watchdog.js';
import { openLocalAgent } from './local-agent.js';
import type { Listening } from './stock-server.js';
import { cardJson, listen } from './stock-server.js';

const open: Pick<Listening, 'close'>[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

const egress = createEgress({ allowPrivate: ['127.0.0.1'], timeoutMs: 60_000, logger: silentLogger });

function recording(lines: string[]): Logger {
  const note = (message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    lines.push(`${message}: ${String(fields['agent'])}`);
  };
  return { ...silentLogger, info: note, warn: note };
}

async function serveCard(facts: { port?: number; description: () => string }): Promise<Listening> {
  const server = await listen((_request, response) => {
    const json = { description: facts.description() };
    response.end(JSON.stringify(cardJson(server.origin, { name: 'far', json })));
  }, facts.port);
  open.push(server);
  return server;
}

describe('RefreshingDirectory', () => {
  it('X4 adds a peer that comes back, removes one that is gone, and logs one line for each', async () => {
    const lines: string[] = [];
    let description = 'v1';
    const near = await openLocalAgent('near');
    open.push(near);
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;

    const directory = new RefreshingDirectory(
      [
        { kind: 'local', name: 'near', handler: near.handler },
        { kind: 'remote', name: 'far', url },
      ],
      { fetch: egress, logger: recording(lines) },
    );
    expect(directory.list()).toEqual([]);
    await directory.refresh();
    await directory.refresh();
    const alone = directory.list();
    expect(alone.map(({ name }) => name)).toEqual(['near']);
    expect(directory.states()[1]).toMatchObject({ name: 'far', kind: 'remote', url, state: 'skipped' });
    expect(directory.states()[1]?.reason).toMatch(/ECONNREFUSED/);
    expect(lines).toEqual(['agent skipped: far']);

    const server = await serveCard({ port, description: () => description });
    await directory.refresh();
    const both = directory.list();
    expect(both.map(({ name }) => name)).toEqual(['near', 'far']);
    expect(both[0]).toBe(alone[0]);
    await directory.refresh();
    expect(directory.list()).toBe(both);

    description = 'v2';
    await directory.refresh();
    expect(directory.get('far')?.description).toBe('v2');

    await server.close();
    await directory.refresh();
    expect(directory.get('far')).toBeDefined();
    expect(directory.states()[1]).toMatchObject({
      state: 'degraded',
      reason: expect.stringContaining('ECONN') as unknown,
    });
    await directory.refresh();
    // A caller that still holds the peer uses it again after the peer is back.
    expect(directory.get('far')?.description).toBe('v2');
    expect(directory.get('nobody')).toBeUndefined();

    await serveCard({ port, description: () => description });
    await directory.refresh();
    expect(directory.states()[1]).toMatchObject({ state: 'ready', description: 'v2' });
    expect(directory.states()[1]).not.toHaveProperty('reason');
    expect(lines.slice(1)).toEqual([
      'agent joined: far',
      'agent changed its card: far',
      'agent left: far',
      'agent joined: far',
    ]);
  });

  it('loads once for concurrent refreshes', async () => {
    let cards = 0;
    const server = await serveCard({ description: () => `${++cards}` });
    const directory = new RefreshingDirectory([{ kind: 'remote', url: server.origin }], {
      fetch: egress,
      logger: silentLogger,
    });
    await Promise.all([directory.refresh(), directory.refresh(), directory.refresh()]);
    expect(cards).toBe(1);
  });

  it('keeps a name with the earlier of two sources, also while that source is briefly away', async () => {
    const lines: string[] = [];
    const early = await serveCard({ port: await freePort(), description: () => 'early' });
    await early.close();
    const late = await serveCard({ description: () => 'late' });
    const directory = new RefreshingDirectory(
      [early, late].map(({ origin: url }) => ({ kind: 'remote', url })),
      { fetch: egress, logger: recording(lines) },
    );
    const descriptions = () => directory.list().map(({ description }) => description);
    await directory.refresh();
    expect(descriptions()).toEqual(['late']);

    const back = await serveCard({ port: early.port, description: () => 'early' });
    await directory.refresh();
    expect(descriptions()).toEqual(['early']);
    expect(directory.states()[1]).toMatchObject({
      state: 'skipped',
      reason: expect.stringContaining('taken') as unknown,
    });

    await back.close();
    await directory.refresh();
    expect(descriptions()).toEqual(['early']);
    expect(lines).toEqual([
      `agent skipped: ${early.origin}`,
      'agent joined: far',
      'agent joined: far',
      'agent left: far',
    ]);
  });

  it('X4 replaces its sources: a load of earlier sources that is still running has no effect', async () => {
    const lines: string[] = [];
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const slow = await listen((_request, response) => {
      asked.resolve();
      const card = JSON.stringify(cardJson(slow.origin, { name: 'slow' }));
      void answer.promise.then(() => response.end(card));
    });
    open.push(slow);
    const near = await openLocalAgent('near');
    open.push(near);
    const far = await serveCard({ description: () => 'far' });
    const directory = new RefreshingDirectory(
      [
        { kind: 'local', name: 'near', handler: near.handler },
        { kind: 'remote', name: 'slow', url: slow.origin },
      ],
      { fetch: egress, logger: recording(lines) },
    );
    const refreshed = directory.refresh();
    await asked.promise;
    await directory.replace([{ kind: 'remote', name: 'far', url: far.origin }]);
    expect(directory.list().map(({ name }) => name)).toEqual(['far']);
    answer.resolve();
    await refreshed;
    expect(directory.list().map(({ name }) => name)).toEqual(['far']);
    expect(directory.states()).toHaveLength(1);
    expect(lines).toEqual(['agent joined: far']);
    const { signal } = new AbortController();
    expect(await directory.wait('slow', signal)).toBeUndefined();
  });

  it('lets new work wait for a peer whose calls fail, reports the reason and the time, and retries it', async () => {
    const lines: string[] = [];
    let isBroken = true;
    const asked: string[] = [];
    const server = await listen((request, response) => {
      const isCard = request.method === 'GET';
      if (!isCard) asked.push(request.url!);
      const card = cardJson(server.origin, { name: 'far' });
      if (isCard) response.setHeader('etag', '"1"').end(JSON.stringify(card));
      else if (isBroken) request.socket.destroy();
      else response.end('{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}');
    });
    open.push(server);
    const directory = new RefreshingDirectory([{ kind: 'remote', url: server.origin }], {
      ...{ fetch: egress, logger: recording(lines), retry: { attempts: 3, firstDelayMs: 1 }, waitMs: 0 },
    });
    await directory.refresh();
    const peer = directory.list()[0]!;
    const ask = async (): Promise<string> => {
      const request: PeerRequest = {
        ...{ scope: { tenant: '', owner: 'o' }, contextId: 'c', parentTaskId: 'p' },
        grant: { chain: [], depth: 1 },
        message: { id: newId(), role: 'user', parts: [textPart('go')] },
      };
      for await (const event of peer.send(request, new AbortController().signal))
        if (event.type === 'end') return `${event.state}: ${event.text}`;
      return '';
    };
    const begun = Date.now();
    while (directory.states()[0]!.state !== 'open') await ask();
    expect(directory.states()[0]).toMatchObject({ state: 'open', reason: expect.any(String) as unknown });
    expect(Date.parse(directory.states()[0]!.since)).toBeGreaterThanOrEqual(begun);
    const before = asked.length;
    expect(await ask()).toMatch(/^failed: it does not respond at the moment: /);
    expect(asked).toHaveLength(before);

    isBroken = false;
    while (directory.states()[0]!.state === 'open') await directory.refresh();
    expect(directory.states()[0]).toMatchObject({ state: 'degraded' });
    expect(await ask()).toContain('failed');
    expect(asked).toHaveLength(before + 1);
    expect(directory.states()[0]).toMatchObject({ state: 'ready' });
    expect(lines).toEqual([
      'agent joined: far',
      'agent gets no new work: far',
      'agent gets new work again: far',
    ]);
  });

  it('revalidates a card by its ETag, and does not wait for a slow one', async () => {
    const statuses: number[] = [];
    const quick = await listen((request, response) => {
      const isKnown = request.headers['if-none-match'] === '"1"';
      statuses.push(isKnown ? 304 : 200);
      if (isKnown) response.writeHead(304).end();
      else response.setHeader('etag', '"1"').end(JSON.stringify(cardJson(quick.origin, { name: 'quick' })));
    });
    let hangs = 0;
    const slow = await listen(() => void (hangs += 1));
    open.push(quick, slow);
    const directory = new RefreshingDirectory(
      [slow, quick].map(({ origin: url }) => ({ kind: 'remote', url })),
      { fetch: egress, logger: silentLogger },
    );
    const all = [directory.refresh()];
    while (statuses.length < 3) {
      all.push(directory.refresh());
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(statuses.slice(0, 3)).toEqual([200, 304, 304]);
    expect(hangs).toBe(1);
    expect(directory.states()[1]).toMatchObject({ state: 'ready', name: 'quick' });
    slow.dropConnections();
    await Promise.all(all);
  });

  it('waits a limited time for a configured peer, and for no other name', async () => {
    const port = await freePort();
    const far = { kind: 'remote', name: 'far', url: `http://127.0.0.1:${port}` } as const;
    const { signal } = new AbortController();
    const hasty = new RefreshingDirectory([far], { fetch: egress, logger: silentLogger, waitMs: 500 });
    expect(await hasty.wait('far', signal)).toBeUndefined();
    const directory = new RefreshingDirectory([far], { fetch: egress, logger: silentLogger });
    expect(await directory.wait('nobody', signal)).toBeUndefined();
    await serveCard({ port, description: () => 'here' });
    expect((await directory.wait('far', signal))?.description).toBe('here');
    expect(await directory.wait('far', AbortSignal.abort())).toBeDefined();
  });

  it('does not block the event loop with 800 agents', async () => {
    const server = await serveCard({ description: () => 'here' });
    const sources = manySources(server.origin, 800);
    await unheld(async () => {
      const directory = new RefreshingDirectory([], { fetch: egress, logger: silentLogger });
      await directory.replace(sources);
      await directory.replace(manySources(server.origin, 800));
      expect(directory.list()).toHaveLength(800);
      expect(directory.get('far799')).toBeDefined();
    });
  });

  it('does not block the event loop with 5,000 agents whose requests are refused at once', async () => {
    const sources = manySources('http://127.0.0.1', 5_000);
    const fetch = () => Promise.reject(new Error('refused'));
    await unheld(async () => {
      const directory = new RefreshingDirectory([], { fetch, logger: silentLogger });
      expect((await directory.replace(sources)).added).toHaveLength(5_000);
      expect(directory.list()).toHaveLength(0);
    });
  });

  it('asks for the cards of many agents in batches', async () => {
    const server = await serveCard({ description: () => 'here' });
    const stopping = new AbortController();
    let asked = 0;
    const directory = new RefreshingDirectory(manySources(server.origin, 40), {
      fetch: (...given) => {
        asked += 1;
        return egress(...given);
      },
      logger: silentLogger,
      signal: stopping.signal,
    });
    const refreshing = directory.refresh();
    await setImmediate();
    expect(asked).toBe(16);
    expect(directory.refresh()).toBe(refreshing);
    stopping.abort();
    await refreshing;
  });
});

function manySources(origin: string, count: number) {
  return Array.from({ length: count }, (_, at) => {
    const [name, url] = [`far${at}`, `${origin}/${at}`];
    return { kind: 'remote', name, url, settings: { name, url } } as const;
  });
}
