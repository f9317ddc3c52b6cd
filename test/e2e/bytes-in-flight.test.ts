import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventBody } from '../../src/core/task.js';
import { userMessage, type Wire } from '../support/a2a-requests.js';
import type { Issuer } from '../support/issuer.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import { withServer } from '../support/server.js';
import { until } from '../support/until.js';

const MIB = 1024 * 1024;
const BODY = JSON.stringify({
  ...userMessage('x'.repeat(MIB / 2)),
  configuration: { returnImmediately: true },
});

/** More than the buffers of a connection hold. */
const LARGE_PARTS = 16;
const largePart = (number: number): EventBody => ({
  type: 'artifact',
  artifact: { id: `a${number}`, parts: [{ kind: 'text', text: 'y'.repeat(MIB / 2) }] },
  append: false,
});

let issuer: Issuer;
beforeAll(async () => {
  issuer = await startIssuer();
});
afterAll(() => issuer.close());

/** Sends the requests of one caller. */
class Client {
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  /** A request for the body of which the server waits. */
  begin(): { readonly sent: ClientRequest; readonly response: Promise<IncomingMessage> } {
    const headers = { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' };
    const sent = request(`${this.#url}/message:send`, {
      method: 'POST',
      agent: false,
      headers: { ...headers, 'content-length': Buffer.byteLength(BODY) },
    });
    const { promise: response, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    sent.on('response', resolve).on('error', reject);
    response.catch(() => undefined);
    sent.write(BODY.slice(0, 100));
    return { sent, response };
  }

  /** The file of a task to import, of which only the beginning comes. */
  beginFile(): ClientRequest {
    const headers = { authorization: `Bearer ${this.#token}`, 'content-type': 'application/octet-stream' };
    const sent = request(new URL('/lango/tasks', this.#url), { method: 'POST', agent: false, headers });
    sent.on('error', () => {}).write('{');
    return sent;
  }

  /** Resolves with the response to more bodies than may wait, once one was refused. */
  async overload(): Promise<{ readonly refused: IncomingMessage; readonly end: () => void }> {
    const open = Array.from({ length: 60 }, () => this.begin());
    const refused = await Promise.race(open.map(async ({ response }) => response));
    return { refused, end: () => open.forEach(({ sent }) => sent.destroy()) };
  }

  async send(): Promise<number> {
    const { sent, response } = this.begin();
    sent.end(BODY.slice(100));
    const { statusCode = 0 } = await response;
    return statusCode;
  }

  /** Resolves with the id of a task with large artifacts. */
  async large(): Promise<string> {
    const response = await fetch(`${this.#url}/message:send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
      body: JSON.stringify(userMessage('large')),
    });
    return ((await response.json()) as Wire).task.id;
  }

  async get(path: string): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = { authorization: `Bearer ${this.#token}` };
    request(this.#url + path, { agent: false, headers }, resolve)
      .on('error', reject)
      .end();
    return promise;
  }
}

async function withClients(bytesInFlight: number, use: (alice: Client, bob: Client) => Promise<void>) {
  const worker = scriptedAgent('worker', async (run) => {
    const [part] = run.inputs.at(-1)!.message.parts;
    if (part?.kind === 'text' && part.text === 'large')
      for (let number = 0; number < LARGE_PARTS; number += 1) await run.append(largePart(number));
    return { state: 'completed' };
  });
  const settings = {
    server: { port: 0, limits: { bytesInFlight } },
    auth: { mode: 'jwt' as const, jwt: { issuer: issuer.url, audience: [AUDIENCE] } },
  };
  await withServer({ agents: [worker], settings }, async ({ address }) => {
    const clients = await Promise.all(
      ['alice', 'bob'].map(
        async (sub) => new Client(`${address.origin}/agents/worker`, await issuer.token({ sub })),
      ),
    );
    await use(clients[0]!, clients[1]!);
  });
}

describe('the bytes of one caller', () => {
  it('leave room for others: more bodies wait or get 503 before they are read, and go on when there is room', async () => {
    await withClients(2 * MIB, async (alice, bob) => {
      const { refused, end } = await alice.overload();
      expect(refused.statusCode).toBe(503);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect(await text(refused)).toContain('server.limits.bytesInFlight');
      expect(await bob.send()).toBe(200);
      end();
      expect(await alice.send()).toBe(200);
    });
  });

  it('leave room beside a body of unknown length that may be larger than all of them', async () => {
    await withClients(2 * MIB, async (alice, bob) => {
      const file = alice.beginFile();
      await sleep(100);
      expect(await bob.send()).toBe(200);
      file.destroy();
    });
  });

  it('count with the answers that it has not read, and only some of those are made at once', async () => {
    await withClients(16 * MIB, async (alice, bob) => {
      const path = `/tasks/${await alice.large()}`;
      const unread: IncomingMessage[] = [];
      const reading = Array.from({ length: 16 }, () => alice.get(path).then((got) => unread.push(got)));
      await Promise.race(reading);
      expect(await bob.send()).toBe(200);
      expect(unread.length).toBeLessThan(12);
      for (let read = 0; read < reading.length; read += 1) {
        await until(() => unread.length > read);
        expect([unread[read]!.statusCode, (await text(unread[read]!)).length > 8 * MIB]).toEqual([200, true]);
      }
    });
  });
});
