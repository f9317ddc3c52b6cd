import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, textPart } from '../../../src/index.js';
import { langoHere } from '../../cli/lango-here.js';
import { lango, makeHome, type Home, type Result } from '../../cli/lango-process.js';
import { ClockAhead } from '../../support/held-time.js';
import { AUDIENCE, startIssuer } from '../../support/issuer.js';
import { openLoginServer, type LoginServer, type Misbehavior } from '../../support/login-server.js';
import { Obedient, untilOffered } from '../../support/obedient-model.js';
import { findInFolder } from '../../support/secret-search.js';
import { sendText, startServer, type TestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { RecordingServer } from '../../support/token-server.js';

/** People sign in at an MCP server by the real command, with a real issuer and a running server. */

const TOKEN = /(access|refresh)-\w+-\d+-\d+/;

/** The server asks again after this time at the earliest, after a failure or when its token was refused. */
const PAUSE_MS = 5_000;
const clock = new ClockAhead();
afterAll(() => clock[Symbol.dispose]());

/** A program in place of the browser: it opens the page and follows the redirect, like a person who agrees. */
async function fakeBrowser(folder: string): Promise<string> {
  const bin = path.join(folder, 'bin');
  await mkdir(bin);
  const script = `#!/bin/sh\nexec "${process.execPath}" -e 'fetch(process.argv[1])' "$1"\n`;
  await writeFile(path.join(bin, 'xdg-open'), script);
  await chmod(path.join(bin, 'xdg-open'), 0o755);
  return `${bin}:${process.env['PATH']}`;
}

/** Signs in by a command in this process, whose page is opened by a person. */
function loginHere(flags: readonly string[], env: Readonly<Record<string, string>>): Promise<Result> {
  const onNote = (note: string): void => {
    const page = /Sign in here:\n(\S+)/.exec(note)?.[1];
    // The command says whether the page leads to a sign-in.
    if (page !== undefined) void fetch(page).catch(() => undefined);
  };
  return langoHere(['mcp', 'login', 'docs', '--no-browser', ...flags], { env, onNote });
}

describe('lango mcp login', () => {
  const model = new Obedient();
  let far: LoginServer;
  let home: Home;
  let server: TestServer;
  let env: Record<string, string>;

  beforeAll(async () => {
    far = await openLoginServer();
    const docs = { url: far.url, login: { issuer: far.issuer.url } };
    home = await makeHome(JSON.stringify({ mcp: { servers: { docs } } }));
    server = await startServer({
      ...{ home: home.folder, model },
      settings: { server: { port: 0 }, tools: { secrets: { enabled: true } }, mcp: { servers: { docs } } },
    });
    env = { ...home.env, LANGO_URL: server.address.origin, PATH: await fakeBrowser(home.folder) };
  });
  afterAll(async () => {
    await server.stop();
    await far[Symbol.asyncDispose]();
    await home.remove();
  });

  const ask = () => sendText(server, 'mcp_docs_whoami {}', { agent: 'operator' });

  function untilAnswer(part: string): Promise<void> {
    clock.pass(PAUSE_MS);
    return until(async () => (await ask()).end.text.includes(part));
  }

  it('is what the agent, the list and the doctor advise while nobody is signed in', async () => {
    await untilOffered('mcp_docs_sign_in', model, server);
    const { end } = await sendText(server, 'mcp_docs_sign_in {}', { agent: 'operator' });
    expect(end.text).toContain('must run: lango mcp login docs');
    const list = await langoHere(['mcp', 'list'], { env });
    expect(list.stdout).toMatch(/docs: you are not signed in\n.*lango mcp login docs/);
    expect(list.code).toBe(1);
    const doctor = await langoHere(['doctor'], { env });
    expect(doctor.stdout).toMatch(/mcp docs: you are not signed in/);
  });

  it('signs in by a browser, with PKCE, state, the resource and a registered client, and the tools work', async () => {
    const done = await lango(['mcp', 'login', 'docs'], { env });
    expect(done).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Signed in at the MCP server docs'),
    });
    const page = new URL(far.issuer.received.find(({ url }) => url.startsWith('/authorize'))!.url, far.url);
    expect(Object.fromEntries(page.searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{20,}$/),
      resource: far.url,
      scope: 'docs',
      client_id: 'client-0',
      redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
    });
    const registered = far.issuer.received.find(({ url }) => url === '/register')!;
    expect(JSON.parse(registered.body)).toMatchObject({ application_type: 'native' });
    clock.pass(PAUSE_MS);
    await untilOffered('mcp_docs_whoami', model, server);
    expect((await ask()).end.text).toContain('you are ada');
    const list = await langoHere(['mcp', 'list'], { env });
    expect(list).toMatchObject({ code: 0, stdout: expect.stringContaining('docs: you are signed in') });
  });

  it('keeps the tokens in the vault only: no file, log, event or output shows one', async () => {
    const asked = await ask();
    expect(asked.end.text).toContain('{{secret:mcp.docs}}');
    expect(JSON.stringify(asked.events)).not.toMatch(TOKEN);
    expect(JSON.stringify(server.log)).not.toMatch(TOKEN);
    const given = [...new Set(far.mcp.received.map(({ headers }) => headers.authorization?.slice(7)))];
    const tokens = given.filter((token) => token?.startsWith('access-')) as string[];
    expect(tokens).not.toHaveLength(0);
    for (const token of tokens) expect(findInFolder(home.folder, token)).toEqual([]);
  });

  it('leads to one renewal when the server refuses the token of many calls', async () => {
    const before = far.grants('refresh_token').length;
    far.refuseAccess('ada');
    const ends = await Promise.all(Array.from({ length: 8 }, ask));
    expect(ends.map(({ end }) => end.text.includes('you are ada'))).toEqual(ends.map(() => true));
    expect(far.grants('refresh_token')).toHaveLength(before + 1);
    expect(far.grants('refresh_token').at(-1)!.get('resource')).toBe(far.url);
  });

  it('lets no agent store, read or delete a sign-in as a secret', async () => {
    for (const call of [
      'secrets_store {"name":"mcp.docs","value":"{\\"endpoint\\":\\"http://127.0.0.1:1\\"}"}',
      'secrets_delete {"name":"mcp.docs"}',
    ]) {
      const { end } = await sendText(server, call, { agent: 'vault' });
      expect(end.text).toContain('lango mcp login keeps such names');
    }
  });

  it('signs in by a code on another device', async () => {
    far.person = 'eve';
    const done = await lango(['mcp', 'login', 'docs', '--device', '--scope', 'docs:write docs'], { env });
    expect(done).toMatchObject({ code: 0 });
    const begun = far.issuer.received.find(({ url }) => url === '/device')!;
    expect(new URLSearchParams(begun.body).get('scope')).toBe('docs docs:write');
    expect(done.stderr).toContain(`Open ${far.issuer.url}/activate and type: WDJB-MJHT`);
    // The command that signed in and the server are two processes: the server uses the earlier tokens for up to a
    // minute.
    far.refuseAccess('ada');
    await untilAnswer('you are eve');
  });

  it('is advised after the issuer has ended the sign-in, and then makes the tools work again', async () => {
    far.revokeAll();
    const { end } = await ask();
    expect(end.text).toContain('Nobody is signed in at the MCP server docs, or no longer.');
    expect(end.text).toContain('lango mcp login docs');
    expect(await loginHere([], env)).toMatchObject({ code: 0 });
    await untilAnswer('you are eve');
  });

  it('is undone by logout, which forgets the tokens and has the issuer revoke them', async () => {
    const done = await langoHere(['mcp', 'logout', 'docs'], { env });
    expect(done).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Its issuer has ended the tokens'),
    });
    const bodies = far.issuer.received.filter(({ url }) => url === '/revoke').map(({ body }) => body);
    expect(bodies.map((body) => /token=(\w+-\w+)/.exec(body)?.[1])).toEqual(['refresh-eve', 'access-eve']);
    expect((await ask()).end.text).toContain('Nobody is signed in at the MCP server docs');
    const list = await langoHere(['mcp', 'list'], { env });
    expect(list.stdout).toContain('you are not signed in');
  });

  it.each<[string, Misbehavior, string]>([
    ['has no address for it', { metadata: { revocation_endpoint: undefined } }, 'offers no way to end them'],
    ['names one elsewhere', { metadata: { revocation_endpoint: 'http://127.0.0.1:9/' } }, 'offers no way'],
    [
      'refuses',
      {
        answer: ({ url }, response) => url === '/revoke' && Boolean(response.writeHead(500).end('{"a":"b"}')),
      },
      'Its issuer responded with 500.',
    ],
    [
      'ends refresh tokens only',
      {
        answer: ({ url, body }, response) =>
          url === '/revoke' &&
          body.includes('access-') &&
          Boolean(
            response
              .writeHead(400, { 'content-type': 'application/json' })
              .end('{"error":"unsupported_token_type"}'),
          ),
      },
      'Z. Its issuer refused: unsupported_token_type.',
    ],
  ])(
    'is undone by a logout that reports that the issuer %s, and forgets the tokens',
    async (_, misbehavior, why) => {
      far.misbehavior = misbehavior;
      expect(await loginHere([], env)).toMatchObject({ code: 0 });
      const before = far.issuer.received.length;
      const { code, stdout } = await langoHere(['mcp', 'logout', 'docs'], { env });
      expect(code).toBe(0);
      expect(stdout).toContain('Not all of the tokens have ended.');
      expect(stdout).toContain(why);
      expect(stdout).not.toMatch(TOKEN);
      expect(far.issuer.received.slice(before).every(({ url }) => url === '/revoke')).toBe(true);
      const list = await langoHere(['mcp', 'list'], { env });
      expect(list.stdout).toContain('you are not signed in');
      far.misbehavior = {};
    },
  );

  it.each([
    [['mcp', 'logout', 'docs'], { server: 'docs' }],
    [['secrets', 'delete', 'mcp.docs'], { deleted: 'mcp.docs' }],
  ])('is undone by %j, whose JSON says why the tokens were not revoked', async (args, about) => {
    far.misbehavior = { metadata: { revocation_endpoint: undefined } };
    expect(await loginHere([], env)).toMatchObject({ code: 0 });
    const { stdout } = await langoHere([...args, '--json'], { env });
    const why = 'Its issuer offers no way to end them.';
    expect(JSON.parse(stdout)).toEqual({ ...about, isRevoked: false, why });
    far.misbehavior = {};
  });

  it('refuses the name of a server without login in the configuration', async () => {
    const { code, stderr } = await langoHere(['mcp', 'login', 'other'], { env });
    expect(code).not.toBe(0);
    expect(stderr).toContain('mcp.servers.other.login');
  });
});

describe('two owners of one server', () => {
  it('have a sign-in, a connection and tools of their own', async () => {
    await using far = await openLoginServer();
    const issuer = await startIssuer();
    const docs = { url: far.url, login: { issuer: far.issuer.url } };
    const home = await makeHome(JSON.stringify({ mcp: { servers: { docs } } }));
    const model = new Obedient();
    const server = await startServer({
      ...{ home: home.folder, model },
      settings: {
        server: { port: 0 },
        auth: { mode: 'jwt', jwt: { issuer: issuer.url, audience: [AUDIENCE] } },
        mcp: { servers: { docs } },
      },
    });
    try {
      const { origin: url } = server.address;
      const people = { ada: await issuer.token({ sub: 'ada' }), bob: await issuer.token({ sub: 'bob' }) };
      const ask = async (token: string) => {
        const request = { parts: [textPart('mcp_docs_whoami {}')], agent: 'operator' };
        let text = '';
        for await (const event of connect({ url, token }).send(request, AbortSignal.timeout(100_000)))
          if (event.type === 'end') text = event.text;
        return text;
      };
      const login = (token: string) => loginHere([], { ...home.env, LANGO_URL: url, LANGO_TOKEN: token });
      const untilConnected = async (token: string) => {
        clock.pass(PAUSE_MS);
        do await ask(token);
        while (!model.offered().includes('mcp_docs_whoami'));
      };
      expect(await login(people.ada)).toMatchObject({ code: 0 });
      await untilConnected(people.ada);
      expect(await ask(people.ada)).toContain('you are ada');
      await ask(people.bob);
      expect(model.offered().filter((name) => name.startsWith('mcp_'))).toEqual(['mcp_docs_sign_in']);
      far.person = 'bob';
      expect(await login(people.bob)).toMatchObject({ code: 0 });
      await untilConnected(people.bob);
      expect(await ask(people.bob)).toContain('you are bob');
      expect(await ask(people.ada)).toContain('you are ada');
    } finally {
      await server.stop();
      await issuer.close();
      await home.remove();
    }
  });
});

describe('a hostile issuer', () => {
  let far: LoginServer;
  let other: RecordingServer;
  let homes: Home[] = [];

  beforeAll(async () => {
    far = await openLoginServer();
    other = await RecordingServer.open();
  });
  afterEach(async () => {
    await Promise.all(homes.map((home) => home.remove()));
    homes = [];
    far.misbehavior = {};
  });
  afterAll(async () => {
    await far[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
  });

  interface Login {
    readonly entry?: object;
    readonly flags?: readonly string[];
    readonly command?: typeof loginHere;
  }

  async function login(misbehavior: Misbehavior, { entry, flags = [], command = loginHere }: Login = {}) {
    far.misbehavior = misbehavior;
    const docs = { url: far.url, login: { issuer: far.issuer.url, ...entry } };
    const home = await makeHome(JSON.stringify({ mcp: { servers: { docs } } }));
    homes.push(home);
    const { env } = home;
    const result = await command(flags, { ...env, PATH: await fakeBrowser(home.folder) });
    expect(result.code).not.toBe(0);
    expect(other.received).toEqual([]);
    expect(result.stderr).not.toMatch(TOKEN);
    const secrets = await langoHere(['secrets', 'list', '--json'], { env });
    expect(JSON.parse(secrets.stdout)).toEqual({ secrets: [] });
    return result.stderr;
  }
  const at = (where: string, answer: (response: ServerResponse) => void): Misbehavior => ({
    answer: ({ url }, response) => {
      if (new URL(url, far.url).pathname !== where) return false;
      answer(response);
      return true;
    },
  });
  const METADATA = '/.well-known/oauth-authorization-server';

  it('gets no code when it names a token endpoint elsewhere', async () => {
    const said = await login({ metadata: { token_endpoint: `${other.url}/token` } });
    expect(said).toContain(`names the token_endpoint at ${other.url}: nothing was sent there.`);
    expect(far.grants('authorization_code')).toEqual([]);
  });

  it('gets nothing when it names a registration or device endpoint elsewhere', async () => {
    expect(await login({ metadata: { registration_endpoint: `${other.url}/r` } })).toContain(
      'registration_endpoint',
    );
    const device = { device_authorization_endpoint: `${other.url}/d` };
    expect(await login({ metadata: device }, { flags: ['--device'] })).toContain(
      'device_authorization_endpoint',
    );
  });

  it("is refused when its metadata is another issuer's, also where no redirect has an iss", async () => {
    const metadata = { issuer: other.url };
    for (const flags of [[], ['--device']])
      expect(await login({ metadata }, { flags })).toMatch(/the responses of its issuer are wrong/);
  });

  it('is refused without PKCE', async () => {
    const said = await login({ metadata: { code_challenge_methods_supported: ['plain'] } });
    expect(said).toContain('does not support PKCE');
  });

  it('has its redirect of the token request not followed', async () => {
    const said = await login(
      at('/token', (response) => response.writeHead(307, { location: `${other.url}/token` }).end()),
    );
    expect(said).toContain('responded with a redirect, which is not followed');
  });

  it('has its redirect of the metadata not followed', async () => {
    await login(at(METADATA, (response) => response.writeHead(302, { location: `${other.url}/m` }).end()));
  });

  it('has a huge response cut off', async () => {
    const said = await login(at(METADATA, (response) => response.end(`{"a":"${'x'.repeat(1_000_000)}"}`)));
    expect(said).toMatch(/too large|65536|64 KiB|more than/i);
  });

  it.each([['another iss'], ['no iss although it promised one']])(
    'is refused when its redirect has %s',
    async (kind) => {
      const before = far.grants('authorization_code').length;
      far.misbehavior = {};
      const iss = kind === 'another iss' ? other.url : '';
      await login({ redirect: { iss } });
      expect(far.grants('authorization_code')).toHaveLength(before);
    },
  );

  const withBrowser: typeof loginHere = (flags, env) => lango(['mcp', 'login', 'docs', ...flags], { env });

  it.each(['ms-msdt:/id', 'file:///etc/passwd'])('opens no program by a page at %s', async (page) => {
    const said = await login({ metadata: { authorization_endpoint: page } }, { command: withBrowser });
    expect(said).toContain('names the authorization_endpoint at null: nothing was sent there.');
    expect(said).not.toContain(page);
  });

  it('is refused when its device page would control the terminal or open another program', async () => {
    for (const page of [
      { user_code: '\u001b[2J', verification_uri: `${far.issuer.url}/a` },
      { user_code: 'ABCD', verification_uri: 'javascript:alert(1)' },
    ]) {
      const body = JSON.stringify({ device_code: 'd', expires_in: 60, interval: 1, ...page });
      const answer = (response: ServerResponse) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(body);
      const said = await login(at('/device', answer), { flags: ['--device'] });
      expect(said.includes(String.fromCharCode(27)) || said.includes('javascript')).toBe(false);
    }
  });

  it('is not called at a private address when only the server names it', async () => {
    const before = far.issuer.received.length;
    const said = await login({}, { entry: { issuer: undefined } });
    expect(said).toMatch(/private or loopback address|no https/);
    expect(far.issuer.received).toHaveLength(before);
  });

  it('is refused when it is not the configured one', async () => {
    const said = await login({ resourceMetadata: { authorization_servers: [other.url] } });
    expect(said).toContain(`names the issuer ${other.url}`);
  });

  it('is not found by metadata elsewhere, or by that of another server', async () => {
    expect(await login({ challenge: `${other.url}/meta` })).toContain('says that its metadata is at');
    expect(await login({ resourceMetadata: { resource: `${other.url}/mcp` } })).toContain('is that of');
  });

  it('cannot complete a sign-in by a redirect with another state', async () => {
    far.misbehavior = { redirect: { state: 'forged' } };
    const before = far.grants('authorization_code').length;
    const docs = { url: far.url, login: { issuer: far.issuer.url } };
    const home = await makeHome(JSON.stringify({ mcp: { servers: { docs } } }));
    homes.push(home);
    const { signInByBrowser } = await import('../../../src/capabilities/mcp/login.js');
    const options = {
      ...{
        name: 'docs',
        url: far.url,
        issuer: far.issuer.url,
        tokenUrl: undefined,
        authorizationUrl: undefined,
        clientId: undefined,
      },
      ...{ clientSecret: undefined, scopes: [], furtherScopes: [], fetch },
    };
    const callback = {
      url: 'http://127.0.0.1:9/callback',
      receive: async () => new URL(`http://127.0.0.1:9/callback?code=c&state=forged&iss=${far.issuer.url}`),
    };
    const signal = new AbortController().signal;
    await expect(signInByBrowser(options, { signal, show: () => undefined, callback })).rejects.toMatchObject(
      {
        code: expect.stringMatching(/unavailable|unauthenticated/),
      },
    );
    expect(far.grants('authorization_code')).toHaveLength(before);
  });
});
