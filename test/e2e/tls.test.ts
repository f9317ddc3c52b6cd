import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import type { RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createServer } from '../../src/index.js';
import type { Pair } from '../support/certificates.js';
import { callersOf, certificate, writePair } from '../support/certificates.js';
import { userMessage } from '../support/a2a-requests.js';

let folder: string;
let authority: Pair;
let own: Pair;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lango-tls-'));
  [authority, own] = [await certificate('authority'), await certificate('server')];
  await writeFile(path.join(folder, 'ca.pem'), authority.cert);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

function ask(url: string, options: RequestOptions, body?: object): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        method: body ? 'POST' : 'GET',
        agent: false,
        rejectUnauthorized: false,
        ...options,
        headers: { 'content-type': 'application/json', ...options.headers },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body && JSON.stringify(body));
  });
}

const BARE = { tools: { fs: { enabled: false }, exec: { enabled: false } } };

describe('server.tls', () => {
  it('serves HTTPS, says so on the card, and takes a new certificate without a restart', async () => {
    const files = await writePair(folder, 'own', own);
    const app = createServer({
      home: path.join(folder, 'a'),
      settings: { ...BARE, server: { port: 0, tls: files } },
    });
    const { origin } = await app.start();
    try {
      expect(origin).toMatch(/^https:/);
      const card = await ask(`${origin}/.well-known/agent-card.json`, {
        ca: own.cert,
        rejectUnauthorized: true,
      });
      expect(card.headers['strict-transport-security']).toMatch(/max-age=\d+/);
      expect(card.text).toContain(`"${origin}/agents/`);
      expect(card.text).not.toContain('"http://');
      const next = await certificate('server');
      await writePair(folder, 'own', next);
      await app.reload();
      const trusted = { ca: next.cert, rejectUnauthorized: true };
      expect((await ask(`${origin}/healthz`, trusted)).status).toBe(200);
      await expect(ask(`${origin}/healthz`, { ca: own.cert, rejectUnauthorized: true })).rejects.toThrow();
      await writeFile(files.keyFile, 'broken');
      await expect(app.reload()).rejects.toMatchObject({ code: 'invalid-config' });
      expect((await ask(`${origin}/healthz`, trusted)).status).toBe(200);
    } finally {
      await app.stop();
    }
  });

  it('names the faulty file in one sentence', async () => {
    const files = await writePair(folder, 'wrong', own);
    const start = (tls: object) =>
      createServer({ home: path.join(folder, 'b'), settings: { ...BARE, server: { port: 0, tls } } }).start();
    await expect(start({ ...files, certFile: '/none.pem' })).rejects.toThrow(
      /TLS: \/none.pem cannot be read/,
    );
    await writeFile(files.keyFile, own.cert);
    await expect(start(files)).rejects.toThrow(/holds no private key/);
    await writeFile(files.keyFile, authority.key);
    await expect(start(files)).rejects.toThrow(/is not the key of/);
  });
});

describe('auth.mode mtls', () => {
  it('authenticates callers by their certificates, each with tasks of its own', async () => {
    const files = await writePair(folder, 'mtls', own);
    const [alice, bob] = [await certificate('alice', authority), await certificate('bob', authority)];
    const stranger = await certificate('alice');
    const expired = await certificate('alice', authority, new Date(1_000_000_000_000));
    const app = createServer({
      home: path.join(folder, 'c'),
      settings: {
        ...BARE,
        auth: { mode: 'mtls' },
        server: { port: 0, tls: { ...files, clientCaFile: path.join(folder, 'ca.pem') } },
      },
    });
    const { origin } = await app.start();
    try {
      const card = await ask(`${origin}/.well-known/agent-card.json`, {});
      expect(card.status).toBe(200);
      expect(card.text).toContain('mtlsSecurityScheme');
      const sent = await ask(`${origin}/message:send`, alice, userMessage('hello'));
      expect(sent.status).toBe(200);
      const { task } = JSON.parse(sent.text) as { task: { id: string } };
      expect((await ask(`${origin}/tasks/${task.id}`, alice)).status).toBe(200);
      expect((await ask(`${origin}/tasks/${task.id}`, bob)).status).toBe(404);
      for (const [who, reason] of [
        [{}, 'a client certificate is required'],
        [stranger, 'not trusted'],
        [expired, 'CERT_HAS_EXPIRED'],
      ] as const) {
        const refused = await ask(`${origin}/tasks/${task.id}`, who);
        expect([refused.status, refused.headers['www-authenticate']]).toEqual([
          401,
          'Mutual-TLS realm="lango"',
        ]);
        expect(refused.text).toContain(reason);
      }
    } finally {
      await app.stop();
    }
  });

  it('refuses a revoked certificate', async () => {
    const files = await writePair(folder, 'mtls', own);
    const { alice, bob, known } = await callersOf(folder, authority);
    const app = createServer({
      home: path.join(folder, 'd'),
      settings: { ...BARE, auth: { mode: 'mtls' }, server: { port: 0, tls: { ...files, ...known } } },
    });
    const { origin } = await app.start();
    try {
      expect((await ask(`${origin}/message:send`, alice, userMessage('hello'))).status).toBe(200);
      const refused = await ask(`${origin}/message:send`, bob, userMessage('hello'));
      expect([refused.status, refused.headers['www-authenticate']]).toEqual([
        401,
        'Mutual-TLS realm="lango"',
      ]);
      expect(refused.text).toContain('CERT_REVOKED');
    } finally {
      await app.stop();
    }
  });
});
