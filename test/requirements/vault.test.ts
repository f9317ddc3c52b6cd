import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { compactVerify, importJWK, type JWK } from 'jose';
import type { ServerOptions } from '../../src/index.js';
import { replyPart } from '../../src/index.js';
import { findIn, findInFolder } from '../support/secret-search.js';
import type { Outcome, TestServer } from '../support/server.js';
import { doings, sendText, withServer } from '../support/server.js';

const VALUE = 'ghp_S3cr3t/To+ken"42ä';
const TOOLS = { fs: { enabled: false }, secrets: { enabled: true }, crypto: { enabled: true } };
const VAULT: ServerOptions = {
  settings: { server: { port: 0 }, tools: { ...TOOLS, exec: { enabled: false } } },
};
const VAULT_AND_COMMANDS: ServerOptions = {
  settings: {
    server: { port: 0 },
    tools: { ...TOOLS, exec: { enabled: true, sandbox: 'off' } },
    approval: { policy: 'none' },
  },
};

function put(server: TestServer, name: string, body: object): Promise<Response> {
  return server.fetch(`/lango/secrets/${name}`, { method: 'PUT', body: JSON.stringify(body) });
}

/** Every place where a value was found: streams, stored data and logs, except for the results of the requests. */
async function traces(server: TestServer, outcome: Outcome, value = VALUE): Promise<readonly string[]> {
  const stream = await server.fetch('/', {
    method: 'POST',
    headers: { 'a2a-version': '1.0', accept: 'text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'GetTask',
      params: { id: outcome.taskId, historyLength: 100 },
    }),
  });
  return [
    ...findIn('events', JSON.stringify(outcome.events), value),
    ...findIn('answer on the wire', await stream.text(), value),
    ...findIn('log', server.log.lines.join('\n'), value),
    ...findInFolder(server.home, value),
  ];
}

describe('B4 The vault', () => {
  it('is in the roster with its card once it has tools, and hashes what the orchestrator hands over', async () => {
    await withServer(VAULT, async (server) => {
      expect(server.address.agents).toContain('vault');
      const card = await (await server.fetch('/agents/vault/.well-known/agent-card.json')).text();
      expect(card).toContain('"id":"cryptography"');
      expect(card).toContain('"id":"secret-management"');
      const hashed = await sendText(server, 'hash hello with sha256');
      expect(doings(hashed)).toContain('vault: tool-call crypto_hash');
      expect(hashed.end.text).toContain('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824');
    });
    await withServer({}, async (server) => expect(server.address.agents).not.toContain('vault'));
  });

  it('creates a key and signs with it, as openssl and jose verify', async () => {
    await withServer(VAULT, async (server) => {
      const made = await sendText(server, 'create a p256 key named release');
      expect(doings(made)).toContain('vault: tool-call crypto_create_key');
      const pem = /-----BEGIN PUBLIC KEY-----[\s\S]*?-----END PUBLIC KEY-----/.exec(made.end.text)?.[0] ?? '';
      const signed = await sendText(server, "sign 'hello' with the key release");
      const signature = /signature: (\S+)/.exec(signed.end.text)?.[1] ?? '';
      const folder = mkdtempSync(path.join(tmpdir(), 'lango-openssl-'));
      try {
        const file = (name: string, content: string | Buffer): string => {
          writeFileSync(path.join(folder, name), content);
          return path.join(folder, name);
        };
        const [key, data, sig] = [
          file('key.pem', `${pem}\n`),
          file('data', 'hello'),
          file('sig', Buffer.from(signature, 'base64')),
        ];
        const said = execFileSync('openssl', ['dgst', '-sha256', '-verify', key, '-signature', sig, data]);
        expect(said.toString()).toContain('Verified OK');
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
      const checked = await sendText(
        server,
        `verify the signature ${signature} of 'hello' with the key release`,
      );
      expect(checked.end.text).toContain('valid: true');
      const jws = await sendText(server, "sign 'hello' with the key release as a jws");
      const compact = /signature: (\S+)/.exec(jws.end.text)?.[1] ?? '';
      const listed = await sendText(server, 'which keys are there');
      const part = (name: string): string =>
        new RegExp(`\\b${name}: (\\S{43})`).exec(made.end.text)?.[1] ?? '';
      const jwk: JWK = { kty: 'EC', crv: 'P-256', x: part('x'), y: part('y') };
      const { payload } = await compactVerify(compact, await importJWK(jwk, 'ES256'));
      expect(Buffer.from(payload).toString()).toBe('hello');
      expect(listed.end.text).toContain('release');
    });
  });

  it('encrypts, and returns decrypted text as a reference only', async () => {
    await withServer(VAULT, async (server) => {
      await sendText(server, 'create an encryption key named box');
      const sealed = await sendText(server, "encrypt 'meet me at the old mill' with the key box");
      const jwe = /ciphertext: (\S+)/.exec(sealed.end.text)?.[1] ?? '';
      expect(jwe.split('.')).toHaveLength(5);
      const opened = await sendText(server, `decrypt ${jwe} with the key box and save it as letter`);
      expect(opened.end.text).toContain('{{secret:letter}}');
      expect(opened.end.text).not.toContain('old mill');
      const listed = await sendText(server, 'which secrets are there');
      expect(listed.end.text).toContain('{{secret:letter}}');
    });
  });

  it('stores a secret from a message, and scrubs its value everywhere from then on', async () => {
    await withServer(VAULT_AND_COMMANDS, async (server) => {
      const stored = await sendText(server, 'store the secret swordfish-9000 as fish for commands');
      expect(doings(stored)).toContain('vault: tool-call secrets_store');
      expect(stored.end).toMatchObject({ state: 'completed' });
      expect(stored.end.text).toContain('{{secret:fish}}');
      const later = await sendText(server, 'run echo swordfish-9000');
      expect(JSON.stringify(later.events)).not.toContain('swordfish-9000');
      expect(later.end.text).toContain('{{secret:fish}}');
    });
  });

  it('stores no reference as a value: a known one was scrubbed from the request that brings it again', async () => {
    await withServer(VAULT_AND_COMMANDS, async (server) => {
      await sendText(server, 'store the secret swordfish-9000 as fish for commands');
      for (const name of ['fish', 'other']) {
        const again = await sendText(server, `store the secret swordfish-9000 as ${name}`);
        expect(again.end.text).toContain('The value holds a reference to the secret "fish".');
      }
      const listed = await sendText(server, 'which secrets are there');
      expect(listed.end.text).not.toContain('other');
      const used = await sendText(server, 'run `printenv T | rev` with the secret fish as T');
      expect(used.end.text).toContain('0009-hsifdrows');
    });
  });

  it('asks a person before it deletes or replaces a secret', async () => {
    await withServer(VAULT, async (server) => {
      await put(server, 'github', { value: VALUE });
      const asked = await sendText(server, 'delete the secret github');
      expect(asked.end.state).toBe('input-required');
      expect(asked.end.questions[0]?.text).toContain('delete the secret "github" permanently');
      const parts = asked.end.questions.map(({ hash }) => replyPart({ hash, decision: 'approve' }));
      const request = { parts, taskId: asked.taskId };
      for await (const event of server.client.send(request, AbortSignal.timeout(100_000))) {
        if (event.type === 'end') expect(event.state).toBe('completed');
      }
      expect(await (await server.fetch('/lango/secrets')).json()).toEqual({ secrets: [] });
    });
  });
});

describe('a secret in a command', () => {
  it('reaches the command and nothing else: not the result, the events, the log, nor any byte of the data folder', async () => {
    await withServer(VAULT_AND_COMMANDS, async (server) => {
      await put(server, 'github', { value: VALUE, places: ['exec'] });
      const length = Buffer.byteLength(VALUE);
      const ran = await sendText(
        server,
        'run `printenv TOKEN | tr -d "\\n" | wc -c` with the secret github as TOKEN',
      );
      expect(doings(ran)).toContain('operator: tool-call exec');
      expect(ran.end.text).toContain(`stdout: ${length}`);
      expect(await traces(server, ran)).toEqual([]);
      const shown = [
        'run `printenv TOKEN` with the secret github as TOKEN',
        'run `printenv TOKEN | base64` with the secret github as TOKEN',
        'run `printf "ab%s" "$TOKEN" | base64 -w 7` with the secret github as TOKEN',
        'run `printenv TOKEN | od -An -tx1` with the secret github as TOKEN',
        'run `printenv TOKEN >&2; exit 3` with the secret github as TOKEN',
        'run `echo {{secret:github}} \'{{secret:github}}\' "{{secret:github}}"`',
      ];
      for (const request of shown) {
        const outcome = await sendText(server, request);
        expect(`${request} -> ${outcome.end.text}`).toMatch(
          /-> [\s\S]*(\{\{secret:github\}\}|\[secret github, encoded\])/,
        );
        expect(await traces(server, outcome)).toEqual([]);
      }
    });
  });

  it('leaves no part of its value at the cut of a long output', async () => {
    await withServer(VAULT_AND_COMMANDS, async (server) => {
      await put(server, 'github', { value: VALUE, places: ['exec'] });
      const prints = 'n=0; while [ $n -lt 3000 ]; do printf %s "$TOKEN"; n=$((n+1)); done';
      for (const stream of ['', ' >&2; exit 3']) {
        const ran = await sendText(server, `run \`(${prints})${stream}\` with the secret github as TOKEN`);
        expect(ran.end.text).toContain('bytes left out');
        for (const part of [VALUE.slice(0, 12), VALUE.slice(-12)])
          expect(await traces(server, ran, part)).toEqual([]);
      }
    });
  });

  it('stays a reference when its owner does not permit it, with advice', async () => {
    await withServer(VAULT_AND_COMMANDS, async (server) => {
      await put(server, 'github', { value: VALUE });
      const request = 'run `printenv TOKEN` with the secret github as TOKEN';
      const refused = await sendText(server, request);
      expect(refused.end.text).toMatch(/may not be used in commands/);
      await server.fetch('/lango/secrets/github', { method: 'PATCH', body: '{"places":["exec"]}' });
      expect((await sendText(server, request)).end.text).toContain('{{secret:github}}');
      const unknown = await sendText(server, 'run `printenv TOKEN` with the secret nothing as TOKEN');
      expect(unknown.end.text).toMatch(/no secret "nothing"/);
    });
  });

  it('is scrubbed from later messages of its owner before they are stored', async () => {
    await withServer(VAULT_AND_COMMANDS, async (server) => {
      await put(server, 'github', { value: VALUE, places: ['exec'] });
      const outcome = await sendText(server, `run \`echo is it ${VALUE} ?\``);
      expect(await traces(server, outcome)).toEqual([]);
    });
  });
});
