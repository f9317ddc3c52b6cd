import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../src/core/json.js';
import type { ModelRequest } from '../../src/core/model.js';
import { freePort } from '../support/free-port.js';
import { Obedient } from '../support/obedient-model.js';
import { followOrders, scriptedAgent } from '../support/scripted-agent.js';
import { type TestServer, startServer } from '../support/server.js';
import { record } from './cell.js';
import { FOLDER } from './framework.js';

/**
 * The contracts of a2a-proof, whose client is that of a2a-sdk (Python), run against a server: one contract for each
 * operation that it has, over each transport. Each test is a cell of docs/reference/interop.md.
 */
const place = path.join(FOLDER ?? '', 'a2a-proof');
const isThere = FOLDER !== undefined && existsSync(path.join(place, 'installed'));
if (!isThere)
  console.warn(
    'SKIPPED: a2a-proof is not installed: .ci/frameworks FOLDER all, LANGO_TEST_FRAMEWORKS=FOLDER',
  );

const NOTES = 'buy milk';
const completed = { state: 'completed' };
const begin = (message: string) => ({ message, return_immediately: true });
/** The turns of the contract for each operation. */
const CONTRACTS: Readonly<Record<string, readonly JsonObject[]>> = {
  send: [{ message: 'say hello', expect: { ...completed, text: { equals: 'hello' } } }],
  stream: [
    {
      message: 'chunks 3',
      expect: { states: { contains_in_order: ['working', 'completed'] }, text: { equals: '<0><1><2>' } },
    },
  ],
  ask: [
    { message: 'ask', expect: { state: 'input_required', text: { contains: 'what shall I say?' } } },
    { message: 'say yes', expect: { ...completed, text: { contains: 'yes' } } },
  ],
  cancel: [begin('wait'), { action: 'cancel', expect: { state: 'canceled' } }],
  get: [
    { message: 'say hello' },
    { action: 'get_task', expect: { ...completed, text: { equals: 'hello' } } },
  ],
  follow: [begin('wait to be followed'), { action: 'subscribe', expect: completed }],
  files: [
    {
      message: 'echo',
      files: [{ path: 'notes.txt', media_type: 'text/plain' }],
      expect: {
        files: {
          ...{ kind: 'raw', filename: 'notes.txt', media_type: 'text/plain' },
          sha256: createHash('sha256').update(NOTES).digest('hex'),
        },
      },
    },
  ],
  push: [
    { ...begin('say hello'), push_notification: true },
    { action: 'await_push', expect: { ...completed, text: { contains: 'hello' } } },
  ],
};

interface Report {
  readonly card?: object;
  readonly scenarios?: readonly {
    readonly name: string;
    readonly trials: readonly Trial[];
  }[];
}

interface Trial {
  readonly error: string | null;
  readonly turns: readonly { readonly failures: readonly string[] }[];
}

function faultsOf({ scenarios = [] }: Report, name: string): readonly string[] {
  const found = scenarios.find((one) => one.name === name);
  if (!found) return ['it did not run'];
  return found.trials.flatMap(({ error, turns }) => [
    ...(error === null ? [] : [error]),
    ...turns.flatMap(({ failures }) => failures),
  ]);
}

(isThere ? describe : describe.skip)('a2a-proof', () => {
  const peerVersion = /a2a-proof==(\S+)/.exec(readFileSync('.ci/frameworks', 'utf8'))![1];
  let server: TestServer;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'a2a-proof-'));
    await writeFile(path.join(folder, 'notes.txt'), NOTES);
    const worker = scriptedAgent('worker', async (run, order) => {
      if (!order.endsWith('to be followed')) return followOrders(run, order);
      while (!/^lango_streams_open [1-9]/m.test(await (await server.fetch('/metrics')).text()))
        await delay(20);
      return { state: 'completed' };
    });
    server = await startServer({
      agents: [worker],
      settings: {
        server: { port: 0, grpc: { enabled: true, port: 0 } },
        metrics: { enabled: true },
        a2a: { publish: ['worker'], push: { textSeconds: 0.01 } },
        egress: { allowPrivate: ['127.0.0.1'] },
      },
    });
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
    const why =
      'It refuses a card whose gRPC address is not a URL, unless its contract has `allow_cross_origin_interfaces: true`; the SDKs of A2A write `host:port`. Its contracts have no list, no extended card and no errors.';
    record({ peer: 'a2a-proof', role: 'any', why });
  });

  /** Runs a contract against an agent, and resolves with the report. */
  const prove = async (agent: { readonly token: string } & JsonObject, rest: JsonObject): Promise<Report> => {
    const { token, ...where } = agent;
    const headers = { Authorization: `Bearer ${token}` };
    const contract = { version: 1, agent: { ...where, headers }, ...rest };
    // A file of JSON is one of YAML.
    const file = path.join(folder, 'a2a-proof.yaml');
    await writeFile(file, JSON.stringify(contract));
    const child = spawn(path.join(place, 'bin/a2a-proof'), ['run', file, '--format', 'json'], {
      env: { ...process.env, TOKEN: token },
    });
    const [output, complaints] = await Promise.all([text(child.stdout), text(child.stderr)]);
    if (!output.startsWith('{')) throw new Error(`a2a-proof gave no report: ${output}${complaints}`);
    return JSON.parse(output) as Report;
  };
  /** Runs the contracts for operations over a transport. */
  const run = (transport: string, token: string, names: readonly string[]): Promise<Report> =>
    prove(
      {
        ...{ url: `${server.address.origin}/agents/worker`, transport, token },
        ...{ grpc_tls: false, allow_cross_origin_interfaces: true },
      },
      {
        card: {
          skills: { contains: 'orders' },
          capabilities: { streaming: true, push_notifications: true, extended_agent_card: true },
        },
        push_notifications: {},
        scenarios: names.map((name) => ({ name, turns: CONTRACTS[name]! })),
      },
    );

  describe.each(['JSONRPC', 'HTTP+JSON', 'GRPC'])('over %s', (transport) => {
    const works = (operation: string): void =>
      record({
        ...{ peer: 'a2a-proof', peerVersion, role: 'client' },
        ...{ transport, version: '1.0', operation, works: true },
      });
    let report: Report;
    beforeAll(async () => {
      report = await run(transport, server.address.token!, Object.keys(CONTRACTS));
    });

    it('card', () => {
      expect(report.card).toMatchObject({ passed: true });
      works('card');
    });
    it.each(Object.keys(CONTRACTS))('%s', (operation) => {
      expect(faultsOf(report, operation)).toEqual([]);
      works(operation);
    });
    it('auth', async () => {
      const refused = await run(transport, 'wrong', ['send']);
      expect(faultsOf(refused, 'send').join()).toMatch(
        /401|authenticat|unauthorized|bearer token is required/i,
      );
      works('auth');
    });
  });

  it('is delegated to by an orchestrator, once and without its token', async () => {
    const port = await freePort();
    const model = new (class extends Obedient {
      override async *stream(request: ModelRequest): ReturnType<Obedient['stream']> {
        // The program listens only while it runs a contract.
        await front.log.saying('agent joined');
        yield* super.stream(request);
      }
    })();
    const a2a = {
      ...{ enabled: true, refreshSeconds: 0.1 },
      remoteAgents: [{ name: 'recorder', url: `http://127.0.0.1:${port}`, allowPrivate: true }],
    };
    const front = await startServer({ model, waitsForPeers: false, settings: { server: { port: 0 }, a2a } });
    try {
      const { origin, token = '' } = front.address;
      const order = { agent_name: 'recorder', request: 'say hello' };
      const report = await prove(
        { url: origin, token },
        {
          downstream: { listen_port: port, skills: ['record'], reply: { text: 'recorded' } },
          scenarios: [
            {
              name: 'delegation',
              turns: [
                { message: 'hello' },
                {
                  message: `transfer_to_agent ${JSON.stringify(order)}`,
                  expect: {
                    ...{ ...completed, text: { contains: 'recorded' } },
                    delegation: {
                      ...{ count: 1, text: { contains: 'say hello' } },
                      not_contains_env: 'TOKEN',
                    },
                  },
                },
              ],
            },
          ],
        },
      );
      expect(faultsOf(report, 'delegation')).toEqual([]);
      const at = { peer: 'a2a-proof', peerVersion, role: 'remote agent' };
      for (const operation of ['card', 'send'])
        record({ ...at, transport: 'JSONRPC', version: '1.0', operation, works: true });
    } finally {
      await front.stop();
    }
  });
});
