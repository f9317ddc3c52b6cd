import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Home, Server } from '../cli/lango-process.js';
import { ended, makeHome, startServer, untilPeersAsked } from '../cli/lango-process.js';
import { freePort } from '../support/free-port.js';
import { openaiWire } from '../support/openai-wire.js';
import { openCollector, unique, type CollectedSpan } from '../support/otlp-collector.js';
import { startPostgres } from '../support/postgres.js';
import { ScriptedServer, events, type RecordedRequest } from '../support/scripted-server.js';

jest.setTimeout(120_000);

/** Real processes that are killed: the trace at the collector and the bill are those of an undisturbed run. */

const TOKEN = 'telemetry-kill-2b9e6f13a7c4';
const PRICE = { input: 1, output: 100 };

class Node {
  readonly origin: string;
  readonly #home: Home;
  readonly #port: number;
  #server: Server | undefined;

  private constructor(home: Home, port: number) {
    this.#home = home;
    this.#port = port;
    this.origin = `http://127.0.0.1:${port}`;
  }

  static async start(config: string): Promise<Node> {
    const node = new Node(await makeHome(`auth: { token: ${TOKEN} }\n${config}`), await freePort());
    await node.start();
    await untilPeersAsked(node.origin, TOKEN);
    return node;
  }

  async start(): Promise<void> {
    this.#server = await startServer(this.#home, ['--port', String(this.#port)]);
  }

  /** Kills the process with SIGKILL. Resolves once it is gone. */
  async kill(): Promise<void> {
    const { child } = this.#server!;
    const gone = ended(child);
    child.kill('SIGKILL');
    await gone;
  }

  async close(): Promise<void> {
    await this.#server?.stop();
    await this.#home.remove();
  }

  /** Begins a task that nobody waits for. Returns its id. */
  async begin(text: string): Promise<string> {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
    const body = JSON.stringify({ message, configuration: { returnImmediately: true } });
    return ((await this.#ask('/message:send', { method: 'POST', body })) as { task: { id: string } }).task.id;
  }

  async untilCompleted(id: string): Promise<void> {
    for (;;) {
      const { status } = (await this.#ask(`/tasks/${id}`)) as { status: { state: string } };
      if (status.state === 'TASK_STATE_COMPLETED') return;
      if (status.state === 'TASK_STATE_FAILED') throw new Error(JSON.stringify(status));
      await sleep(100);
    }
  }

  async bill(): Promise<readonly { node: string; input: number; output: number; cost: number }[]> {
    return ((await this.#ask('/lango/bill')) as { rows: [] }).rows;
  }

  async #ask(path: string, init: RequestInit = {}): Promise<unknown> {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    return (await fetch(`${this.origin}${path}`, { ...init, headers })).json();
  }
}

/** The spans without a parent: each trace must have one. */
function rootsOf(spans: readonly CollectedSpan[]): readonly CollectedSpan[] {
  return spans.filter(({ parent }) => !spans.some(({ id }) => id === parent));
}

describe('three nodes of which two are killed in the middle', () => {
  it("produce one connected trace, and a bill that equals the vendor's charge", async () => {
    await using collector = await openCollector();
    await using vendor = await ScriptedServer.open();
    let charged = 0;
    const held: (() => void)[] = [];
    const isAbove = ({ body }: RecordedRequest): boolean =>
      JSON.stringify(body['tools'] ?? '').includes('"next"');
    const hasResult = ({ body }: RecordedRequest): boolean =>
      JSON.stringify(body['messages']).includes('"tool"');
    vendor.willAlwaysReply(async (response, request) => {
      const calls = [
        { id: 'c1', name: 'transfer_to_agent', json: ['{"agent_name":"next","request":"go on"}'] },
      ];
      const isCall = isAbove(request) && !hasResult(request);
      // The responses to the last node wait until the test has killed the nodes that it wants.
      if (!isAbove(request)) await new Promise<void>((resolve) => held.push(resolve));
      response.on('finish', () => (charged += 1));
      if (response.destroyed) return;
      const stream = isCall
        ? openaiWire.answer({ calls, stop: 'function-calls' })
        : openaiWire.answer({ texts: ['done'], stop: 'end' });
      await events(stream)(response, request);
    });
    const config = (service: string, next?: Node) => `
model: { provider: openai, api: chat, name: m, baseUrl: '${vendor.url}/v1', apiKey: k }
prices: { m: { input: ${PRICE.input}, output: ${PRICE.output} } }
telemetry: { otlp: { url: '${collector.url}', service: ${service} } }
${next ? `a2a: { enabled: true, remoteAgents: [{ name: next, url: '${next.origin}', token: ${TOKEN}, allowPrivate: true }] }` : ''}`;
    const third = await Node.start(config('third'));
    const second = await Node.start(config('second', third));
    const first = await Node.start(config('first', second));
    try {
      const task = await first.begin('begin');
      while (held.length < 1) await sleep(20);
      await second.kill();
      await second.start();
      await third.kill();
      held.pop()!();
      await third.start();
      while (held.length < 1) await sleep(20);
      held.pop()!();
      await first.untilCompleted(task);

      // Two responses for each delegating node, and one for the last.
      expect(charged).toBe(5);
      const rows = await first.bill();
      const { input, output } = openaiWire.usage;
      const sum = (of: 'input' | 'output' | 'cost') => rows.reduce((all, row) => all + row[of], 0);
      expect([sum('input'), sum('output')]).toEqual([charged * input, charged * output]);
      const cost = (charged * (input * PRICE.input + output * PRICE.output)) / 1e6;
      expect(sum('cost')).toBeCloseTo(cost, 9);
      expect(new Set(rows.map((row) => row.node)).size).toBe(3);

      const spans = await collector.until(10);
      await sleep(1_500);
      expect(unique(collector.spans)).toHaveLength(10);
      expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
      expect(rootsOf(spans).map(({ service }) => service['service.name'])).toEqual(['first']);
      const services = spans.map(({ service }) => service['service.name']).toSorted();
      expect(services).toEqual([
        ...Array<string>(4).fill('first'),
        ...Array<string>(4).fill('second'),
        'third',
        'third',
      ]);
    } finally {
      for (const node of [first, second, third]) await node.close();
    }
  });
});

const postgres = await startPostgres();

(postgres ? describe : describe.skip)('two replicas of which the one that exports is killed', () => {
  afterAll(() => postgres!.stop());

  it('export each task of both, and none as two spans', async () => {
    const database = await postgres!.database();
    await using collector = await openCollector();
    const config = `
model: { provider: offline }
storage: { url: '${database.url}' }
vault: { passphrase: 'the same on each replica' }
telemetry: { otlp: { url: '${collector.url}' } }`;
    const nodes = [await Node.start(config), await Node.start(config)] as const;
    try {
      const ids: string[] = [];
      const sendTen = async (to: readonly Node[]) => {
        for (let n = 0; n < 10; n += 1) ids.push(await to[n % to.length]!.begin('hello'));
      };
      await sendTen(nodes);
      await collector.until(ids.length);
      const { rows } = await database.run('SELECT worker FROM trace_exporter');
      expect(rows).toHaveLength(1);
      // An outsider does not know which of them exports: each is killed once, in the middle of its tasks.
      for (const node of nodes) {
        await sendTen(nodes);
        await node.kill();
        await sendTen(nodes.filter((other) => other !== node));
        await node.start();
      }
      const exported = () =>
        unique(collector.spans).flatMap(({ attributes }) => attributes['lango.task'] ?? []);
      while (new Set(exported()).size < ids.length) await sleep(200);
      expect(exported().toSorted()).toEqual(ids.toSorted());
    } finally {
      for (const node of nodes) await node.close();
      await database.drop();
    }
  });
});
