import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { openSite, type Site } from '../capabilities/browser/setup.js';
import { describeSandboxed } from '../capabilities/workspace/exec/setup.js';
import { findIn, findInFolder } from '../support/secret-search.js';
import type { Outcome, TestServer } from '../support/server.js';
import { decide, sendText, startServer } from '../support/server.js';

const VALUE = 'ghp_S3cr3tToken42';
const TOOLS = { fs: { enabled: false }, secrets: { enabled: true }, http: { enabled: true } };

let site: Site;
let seen: unknown[] = [];
let methods: unknown[] = [];
let server: TestServer;

async function start(sandbox: 'off' | 'required', policy?: 'none' | readonly string[]): Promise<void> {
  const settings = {
    ...(policy && { approval: { policy: policy as 'none' } }),
    server: { port: 0 },
    tools: { ...TOOLS, exec: { enabled: true, sandbox } },
    egress: { allowPrivate: ['127.0.0.1'] },
  };
  server = await startServer({ settings });
}

function store(secret: object): Promise<Response> {
  const body = JSON.stringify({ value: VALUE, replace: true, ...secret });
  return server.fetch('/lango/secrets/api', { method: 'PUT', body });
}

/** The text as JSON may write it: an escape for each character. */
const escapes = (text: string) =>
  text.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** The places where the value was found, also backwards, except for the request that carried it. */
function traces(outcomes: readonly Outcome[]): readonly string[] {
  const told = JSON.stringify(outcomes.map(({ events }) => events)) + server.log.lines.join();
  const backwards = [...VALUE].reverse().join('');
  return [VALUE, backwards].flatMap((form) => [
    ...findIn('events and log', told, form),
    ...findInFolder(server.home, form),
  ]);
}

beforeAll(async () => {
  site = await openSite({
    '/escaped': ({ headers }, response) => {
      response.end(`{"said":"${escapes(String(headers['x-api-key']))}"}`);
    },
    '/partly': ({ headers }, response) => {
      const said = String(headers['x-api-key']);
      response.write(`${escapes(said.slice(0, 3))}${said.slice(3, 6)}&#00`);
      response.end(`${said.charCodeAt(6)};%${said.charCodeAt(7).toString(16)}${said.slice(8)}`);
    },
    '/': ({ headers, method }, response) => {
      seen.push(headers['x-api-key']);
      methods.push(method);
      response
        .setHeader('x-echo', String(headers['x-api-key']))
        .end(`you said ${String(headers['x-api-key'])}`);
    },
  });
});
afterAll(() => site.close());
beforeEach(() => {
  seen = [];
  methods = [];
});

const itWithCurl = existsSync('/usr/bin/curl') ? it : it.skip;
if (itWithCurl === it.skip) console.warn('SKIPPED: requests of commands, because curl is not here.');

/** Runs a command that sends a request with the secret, which may change something. */
function runRequest(flags: string, changes?: string): Promise<Outcome> {
  const command = `curl -sS ${flags} --unix-socket "$LANGO_HTTP" ${site.origin}/ -H "X-Api-Key: {{secret:api:http}}"`;
  return sendText(server, `call exec with ${JSON.stringify({ command, ...(changes && { changes }) })}`);
}

const DELETES = 'DELETE 127.0.0.1 api';

describe('http_request', () => {
  beforeAll(() => start('off'));
  afterAll(() => server.stop());
  const ask = () => sendText(server, `request ${site.origin}/ with the secret api as the header X-Api-Key`);

  it('sends a secret to the host that its owner permits, and shows nobody its value', async () => {
    await store({ places: ['http'], hosts: ['api.example.com'] });
    const refused = await ask();
    expect(refused.end.text).toContain('may not be used for 127.0.0.1 (http)');
    await store({ places: ['exec'] });
    expect((await ask()).end.text).toContain('may not be used');
    expect(seen).toEqual([]);
    await store({ places: ['http'], hosts: ['127.0.0.1'] });
    const sent = await ask();
    expect([seen, sent.end.state]).toEqual([[VALUE], 'completed']);
    expect(sent.end.text).toContain('you said {{secret:api}}');
    expect(traces([refused, sent])).toEqual([]);
  });

  it.each(['escaped', 'partly'])('shows no model a secret that the service returns %s', async (path) => {
    await store({ places: ['http'], hosts: ['127.0.0.1'] });
    const { end } = await sendText(
      server,
      `request ${site.origin}/${path} with the secret api as the header X-Api-Key`,
    );
    expect(end.text).toContain('[secret api, encoded]');
    for (const shown of [escapes(VALUE).slice(-12), VALUE.slice(8)]) expect(end.text).not.toContain(shown);
  });

  it('sends a secret to other machines by https only, and asks before a call with effects', async () => {
    await store({ places: ['http'], hosts: ['api.example.com'] });
    const plain = await sendText(
      server,
      'request http://api.example.com/ with the secret api as the header X-Key',
    );
    expect(plain.end.text).toContain('over https only');
    const call = JSON.stringify({ url: `${site.origin}/`, method: 'POST', body: 'a note' });
    const asked = await sendText(server, `call http_request with ${call}`);
    expect(asked.end.questions[0]?.text).toContain(`send POST ${site.origin}/ and the body "a note"`);
    expect(seen).toEqual([]);
    expect((await decide(server, asked, { decision: 'approve' })).end.state).toBe('completed');
    expect(seen).toEqual([undefined]);
  });

  it('asks nobody about a secret that is not there, or that may not be used so', async () => {
    await store({ places: ['http'], hosts: ['api.example.com'] });
    const request = (name: string) => {
      const headers = { 'X-Api-Key': `{{secret:${name}}}` };
      return `call http_request with ${JSON.stringify({ url: `${site.origin}/`, method: 'DELETE', headers })}`;
    };
    const command = `call exec with ${JSON.stringify({ command: 'echo {{secret:none}}' })}`;
    const background = `call exec_background with ${JSON.stringify({ action: 'start', command: 'echo {{secret:none}}' })}`;
    for (const [text, why] of [
      [request('none'), 'There is no secret "none"'],
      [request('api'), 'may not be used for 127.0.0.1 (http)'],
      [command, 'There is no secret "none"'],
      [background, 'There is no secret "none"'],
    ] as const) {
      const { end } = await sendText(server, text);
      expect([end.state, end.questions]).toEqual([expect.stringMatching(/completed|failed/), []]);
      expect(end.text).toContain(why);
    }
  });
});

describe.each([
  ['outside of the sandbox', 'off', describe],
  ['in the sandbox', 'required', describeSandboxed],
] as const)('a command %s', (_, sandbox, group) => {
  group('with a secret', () => {
    beforeEach(() => start(sandbox));
    afterEach(() => server.stop());

    it('gets the value in its environment only after a person approved exactly that', async () => {
      await store({ places: ['exec'] });
      const asked = await sendText(server, 'run `printenv T | rev` with the secret api as T');
      expect(asked.end.state).toBe('input-required');
      const text = asked.end.questions[0]?.text;
      expect(text).toContain(
        'with the value of the secret api, which the command can read, change and print',
      );
      const done = await decide(server, asked, { decision: 'approve' });
      expect(done.end.text).toContain('mayContainSecrets');
      expect(done.end.text).toContain([...VALUE].reverse().join(''));
    });

    itWithCurl.each([
      ['a method', '-X DELETE', undefined],
      ['a body', '-d {}', undefined],
      ['a header that stands for a method', '-H "X-HTTP-Method-Override: DELETE"', undefined],
      ['another method than it named', '-X PUT', DELETES],
      ['another secret than it named', '-X DELETE', 'DELETE 127.0.0.1 other'],
      ['another host than it named', '-X DELETE', 'DELETE localhost api, PUT localhost api'],
    ])('changes nothing with a secret that nobody approved: %s', async (__, flags, changes) => {
      await store({ places: ['http'], hosts: ['127.0.0.1'] });
      const said = await runRequest(flags, changes);
      const isAsked = said.end.state === 'input-required';
      expect(isAsked).toBe(sandbox === 'off' || changes !== undefined);
      const done = isAsked ? await decide(server, said, { decision: 'approve' }) : said;
      expect(done.end.text).toContain('changes something, and nobody approved that. Put "');
      expect(done.end.text).toMatch(
        /(GET|PUT|POST|DELETE) 127\.0\.0\.1:\d+ api" into `changes` of this call/,
      );
      expect(seen).toEqual([]);
    });

    itWithCurl('sends a change with a secret once a person approved the command with it', async () => {
      await store({ places: ['http'], hosts: ['127.0.0.1'] });
      const asked = await runRequest('-X DELETE', DELETES);
      const [question] = asked.end.questions;
      expect(question?.text).toMatch(
        /run the command "curl .*", which may send DELETE to 127\.0\.0\.1 with the secret api\?$/,
      );
      expect(seen).toEqual([]);
      const done = await decide(server, asked, { decision: 'approve' });
      expect(done.end.text).toContain('you said {{secret:api}}');
      expect([seen, methods]).toEqual([[VALUE], ['DELETE']]);
    });

    it('says in the question that a request which reads has a header for another method', async () => {
      await store({ places: ['http'], hosts: ['127.0.0.1'] });
      const asked = await runRequest('-H "X-HTTP-Method-Override: DELETE"', 'GET 127.0.0.1 api');
      expect(asked.end.questions[0]?.text).toMatch(
        /, which may send GET with a header for another method to 127\.0\.0\.1 with the secret api\?$/,
      );
    });

    itWithCurl('sends it to a permitted host without ever having it', async () => {
      await using after = new AsyncDisposableStack();
      // The socket is open to the account of commands whatever the umask.
      const umask = process.umask(0o077);
      after.defer(() => void process.umask(umask));
      await store({ places: ['http'], hosts: ['127.0.0.1'] });
      const request = (url: string) =>
        `curl -sS --unix-socket "$LANGO_HTTP" ${url} -H "X-Api-Key: {{secret:api:http}}" | tee got; rev got; env | rev`;
      const run = async (url: string) => {
        const said = await sendText(server, `run \`${request(url)}\``);
        return sandbox === 'off' ? decide(server, said, { decision: 'approve' }) : said;
      };
      const sent = await run(`${site.origin}/`);
      expect([seen, sent.end.state]).toEqual([[VALUE], 'completed']);
      expect(sent.end.text).toContain('you said {{secret:api}}');
      const sockets = () => readdirSync(path.join(server.home, 'run'));
      const refused = await run(site.origin.replace('127.0.0.1', 'localhost'));
      expect(refused.end.text).toContain('may not be used for localhost (http)');
      const bare = await run(`${site.origin}/ -H "X-Api-Key;" #`);
      expect(bare.end.text).toContain('The forwarder sends only requests with a secret in a header.');
      expect(seen).toHaveLength(1);
      expect(traces([sent, refused])).toEqual([]);
      expect(sockets()).toEqual([]);
    });
  });
});

describe('a change with a secret by a command', () => {
  afterEach(() => server.stop());

  itWithCurl('is sent without a question where the policy asks nobody', async () => {
    await start('off', 'none');
    await store({ places: ['http'], hosts: ['127.0.0.1'] });
    await runRequest('-X DELETE');
    expect(methods).toEqual(['DELETE']);
  });

  itWithCurl('is left to http_request where the policy asks for that and not for commands', async () => {
    await start('off', ['http_request']);
    await store({ places: ['http'], hosts: ['127.0.0.1'] });
    const said = await runRequest('-X DELETE', DELETES);
    expect(said.end.text).toContain('nobody approved that. Use http_request');
    expect(methods).toEqual([]);
  });
});
