import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { SignJWT, type JWK } from 'jose';
import { createAuthenticator } from '../../src/http/identity.js';
import { JwtKeys, keysFromUrl } from '../../src/http/jwt-keys.js';
import { silentLogger } from '../../src/core/logger.js';
import type { Wire } from '../support/a2a-requests.js';
import { sseEvents, userMessage } from '../support/a2a-requests.js';
import type { Issuer } from '../support/issuer.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import type { TestServer } from '../support/server.js';
import { startServer } from '../support/server.js';
import { langoHere } from '../cli/lango-here.js';

let issuer: Issuer;
let server: TestServer | undefined;

beforeAll(async () => {
  issuer = await startIssuer();
});
afterAll(() => issuer.close());
afterEach(async () => {
  issuer.isDown = false;
  await server?.stop();
  server = undefined;
});

const NO_TOOLS = { fs: { enabled: false }, exec: { enabled: false } };

interface WaitingMessage {
  readonly extensions: readonly string[];
  readonly parts: readonly {
    readonly text?: string;
    readonly data?: { readonly question?: { readonly hash: string } };
  }[];
}

async function start(jwt: object = {}, tools: object = NO_TOOLS, approval: object = {}): Promise<TestServer> {
  server = await startServer({
    settings: {
      server: { port: 0 },
      tools,
      approval,
      auth: { mode: 'jwt', jwt: { issuer: issuer.url, audience: [AUDIENCE], ...jwt } },
    },
  });
  return server;
}

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Wire;
}

async function ask(token: string | null, path: string, body?: object): Promise<Reply> {
  const response = await fetch(server!.address.origin + path, {
    method: body ? 'POST' : 'GET',
    headers: {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: text.startsWith('{') ? (JSON.parse(text) as Wire) : ({} as Wire),
  };
}

describe('auth.mode jwt', () => {
  it('3.3 #1: keeps two users apart in every operation, and 3.3 #2: refuses a tenant that the interface does not declare', async () => {
    await start();
    const [alice, bob] = [await issuer.token({ sub: 'alice' }), await issuer.token({ sub: 'bob' })];
    const sent = await ask(alice, '/message:send', userMessage('hello'));
    expect(sent.status).toBe(200);
    const { id, contextId } = sent.json.task;
    expect((await ask(alice, `/tasks/${id}`)).status).toBe(200);
    const foreign = [
      await ask(bob, `/tasks/${id}`),
      await ask(bob, `/tasks/${id}:cancel`, {}),
      await ask(bob, `/tasks/${id}:subscribe`, {}),
      await ask(bob, '/message:send', userMessage('more', { taskId: id })),
    ];
    expect(foreign.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    const unknown = await ask(bob, '/tasks/no-such-task');
    expect(foreign[0]?.text.replaceAll(id, 'X')).toBe(unknown.text.replaceAll('no-such-task', 'X'));
    expect((await ask(alice, '/tasks')).json.totalSize).toBe(1);
    expect((await ask(bob, '/tasks')).json.totalSize).toBe(0);
    expect((await ask(bob, `/tasks?contextId=${contextId}`)).json.totalSize).toBe(0);
    const rest = await ask(alice, `/tasks/${id}?tenant=other`);
    expect(rest.status).toBe(400);
  });

  it('shows nothing to a caller who requests the trace of another', async () => {
    await start();
    const [alice, bob] = [await issuer.token({ sub: 'alice' }), await issuer.token({ sub: 'bob' })];
    const { id } = (await ask(alice, '/message:send', userMessage('hello'))).json.task;
    const traceOf = async (token: string, task: string) => {
      const { status, text } = await ask(token, `/lango/tasks/${task}/trace`);
      return { status, text, ...(JSON.parse(text) as { traceId: string; spans: { traceId: string }[] }) };
    };
    const { traceId, spans } = await traceOf(alice, id);
    const response = await server!.fetch('/message:send', {
      method: 'POST',
      headers: { authorization: `Bearer ${bob}`, traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
      body: JSON.stringify(userMessage('hello')),
    });
    const { task } = (await response.json()) as Wire;
    const own = await traceOf(bob, task.id);
    expect(own.traceId).toBe(traceId);
    expect(own.text).not.toContain(id);
    expect((await traceOf(bob, id)).status).toBe(404);
    expect((await traceOf(alice, id)).spans).toHaveLength(spans.length);
  });

  it('3.3 #2: keeps two tenants of one user name apart', async () => {
    await start({ tenantClaim: 'org' });
    const [red, blue] = [
      await issuer.token({ sub: 'alice', org: 'red' }),
      await issuer.token({ sub: 'alice', org: 'blue' }),
    ];
    const { id } = (await ask(red, '/message:send', userMessage('hello'))).json.task;
    expect((await ask(red, `/tasks/${id}`)).status).toBe(200);
    expect((await ask(blue, `/tasks/${id}`)).status).toBe(404);
    expect((await ask(await issuer.token({ sub: 'alice' }), '/tasks')).status).toBe(401);
  });

  it('3.3 #3: refuses an invalid token with a challenge that states the reason', async () => {
    await start();
    const unsigned = `${btoa('{"alg":"none"}').replaceAll('=', '')}.${btoa('{"sub":"alice"}').replaceAll('=', '')}.`;
    const [published] = ((await (await fetch(`${issuer.url}/keys`)).json()) as { keys: JWK[] }).keys;
    const shared = await new SignJWT({ sub: 'alice' })
      .setProtectedHeader({ alg: 'HS256', kid: published!.kid! })
      .setIssuer(issuer.url)
      .setAudience(AUDIENCE)
      .setExpirationTime('5m')
      .sign(Buffer.from(JSON.stringify(published)));
    const cases: readonly (readonly [string, string | null, RegExp])[] = [
      ['none', null, /^Bearer realm="lango"$/],
      ['garbage', 'x.y.z', /error="invalid_token"/],
      ['unsigned', unsigned, /invalid_token/],
      ['signed with the public key as a shared secret', shared, /invalid_token/],
      ['expired', await issuer.token({ sub: 'a' }, { expires: 1_000 }), /expired/],
      ['without an end', await issuer.token({ sub: 'a' }, { expires: null }), /claim exp/],
      [
        'of another issuer',
        await issuer.token({ sub: 'a' }, { issuer: 'https://evil.example' }),
        /claim iss/,
      ],
      ['for somebody else', await issuer.token({ sub: 'a' }, { audience: 'other' }), /claim aud/],
      ['without an owner', await issuer.token({}), /claim sub/],
      ['with an owner that is no name', await issuer.token({ sub: 7 }), /invalid_token/],
    ];
    for (const [name, token, challenge] of cases) {
      const reply = await ask(token, '/tasks');
      expect([name, reply.status]).toEqual([name, 401]);
      expect(reply.headers.get('www-authenticate')).toMatch(challenge);
      expect(reply.json.error.status).toBe('UNAUTHENTICATED');
    }
    const rpc = await ask(null, '/', { jsonrpc: '2.0', id: 1, method: 'ListTasks' });
    expect([rpc.status, rpc.json.error.code, rpc.headers.get('www-authenticate')]).toEqual([
      401,
      -32000,
      'Bearer realm="lango"',
    ]);
  });

  it('accepts a decision only from a caller with the scope of approval.by, as text and as data', async () => {
    const files = { ...NO_TOOLS, fs: { enabled: true } };
    await start({}, files, { by: 'lango.approve' });
    const [asker, approver] = [
      await issuer.token({ sub: 'alice', scope: 'lango.use' }),
      await issuer.token({ sub: 'alice', scope: 'lango.approve' }),
    ];
    await ask(asker, '/message:send', userMessage('create a folder old'));
    const asked = await ask(
      asker,
      '/message:send',
      userMessage('delete the folder old with everything in it'),
    );
    const { id, status } = asked.json.task as unknown as { id: string; status: { message: WaitingMessage } };
    expect(status.message.extensions).toEqual(['urn:lango:a2a:approval:v1']);
    const { hash } = status.message.parts.flatMap(({ data }) => data?.question ?? [])[0]!;
    const [, words] = /Reply: (approve \w{4}),/.exec(status.message.parts[0]!.text!)!;
    const answer = { data: { answer: { hash, decision: 'approve' } } };
    for (const message of [
      userMessage(words!, { taskId: id }),
      userMessage('no', { taskId: id }),
      { message: { messageId: 'as-data', role: 'ROLE_USER', taskId: id, parts: [answer] } },
    ]) {
      const refused = await ask(asker, '/message:send', message);
      expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('approval.by')]);
    }
    expect((await ask(asker, `/tasks/${id}`)).json.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    const done = await ask(approver, '/message:send', userMessage(words!, { taskId: id }));
    expect(done.json.task.status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('3.3 #3: requires the scope of the agent, declares it on the card, and audits refused callers', async () => {
    await start({ scopes: [{ agent: 'lango-orchestrator', scope: 'lango.use' }] });
    const card = (await (
      await fetch(`${server!.address.origin}/.well-known/agent-card.json`, {
        headers: { 'A2A-Version': '1.0' },
      })
    ).json()) as {
      securitySchemes: Record<string, unknown>;
      securityRequirements: unknown;
    };
    expect(card.securitySchemes).toMatchObject({
      openIdConnect: {
        openIdConnectSecurityScheme: { openIdConnectUrl: `${issuer.url}/.well-known/openid-configuration` },
      },
    });
    const [byDiscovery] = card.securityRequirements as readonly unknown[];
    expect(byDiscovery).toEqual({ schemes: { openIdConnect: { list: ['lango.use'] } } });
    const without = await issuer.token({ sub: 'alice', scope: 'other' });
    for (const reply of [
      await ask(without, '/message:send', userMessage('hello')),
      await ask(without, '/message:stream', userMessage('hello')),
      await ask(without, '/tasks'),
      await ask(without, '/', { jsonrpc: '2.0', id: 1, method: 'ListTasks' }),
    ]) {
      expect(reply.status).toBe(403);
      expect(reply.headers.get('www-authenticate')).toContain(
        'error="insufficient_scope", scope="lango.use"',
      );
    }
    const allowed = await issuer.token({ sub: 'alice', scope: 'x lango.use' });
    const stream = await ask(allowed, '/message:stream', userMessage('hello'));
    const taskId = sseEvents(stream.text)[0]?.data.task.id;
    const lines = server!.log.lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ message }) => message === 'audit');
    expect(lines).toEqual([
      expect.objectContaining({ operation: 'SendMessage', outcome: 'forbidden', owner: 'user:alice' }),
      expect.objectContaining({ operation: 'SendStreamingMessage', outcome: 'forbidden' }),
      expect.objectContaining({ operation: 'ListTasks', outcome: 'forbidden' }),
      expect.objectContaining({ operation: 'ListTasks', outcome: 'forbidden' }),
      {
        level: 'info',
        message: 'audit',
        operation: 'SendStreamingMessage',
        outcome: 'ok',
        owner: 'user:alice',
        from: '127.0.0.1',
        agent: 'lango-orchestrator',
        task: taskId,
      },
    ]);
  });

  it('16.8: makes the command line report what is wrong with its token, and list only what its caller may see', async () => {
    const { address } = await start({ scopes: [{ agent: 'planner', scope: 'lango.plan' }] });
    const cli = async (token: string, ...args: readonly string[]) =>
      langoHere([...args, '--url', address.origin, '--token', token]);
    const expired = await issuer.token({ sub: 'alice' }, { expires: 1_000 });
    for (const args of [['tasks', 'list'], ['send', 'hi'], ['agents']]) {
      const { code, stderr } = await cli(expired, ...args);
      expect([code, stderr]).toEqual([8, expect.stringContaining('The token has expired.')]);
    }
    const alice = await issuer.token({ sub: 'alice' });
    await cli(alice, 'send', 'hello');
    const listed = await cli(alice, 'tasks', 'list');
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining('hello') });
    expect(listed.stderr).toContain('they need a scope that you lack: planner');
    const refused = await cli(alice, 'tasks', 'list', '--agent', 'planner');
    expect(refused).toMatchObject({
      code: 8,
      stderr: expect.stringContaining('requires the scope lango.plan'),
    });
  });

  it('withholds the tools of a skill from callers without its scope, through delegations too', async () => {
    await start(
      { scopes: [{ agent: 'operator', skill: 'file-operations', scope: 'lango.files' }] },
      { fs: { enabled: true }, exec: { enabled: false } },
    );
    const order = userMessage('create a file a.txt with hi and then read a.txt');
    const scopeless = await issuer.token({ sub: 'alice', scope: 'x' });
    const bare = await ask(scopeless, '/message:send', order);
    // Claiming the tools does not help: the grant of a sender can only narrow the caller's own.
    const claim = { 'urn:lango:a2a:chain:v1': { tools: ['fs_write', 'fs_read'] } };
    const claiming = userMessage('create a file c.txt with hi', { metadata: claim });
    expect((await ask(scopeless, '/message:send', claiming)).status).toBe(200);
    const full = await ask(
      await issuer.token({ sub: 'alice', scope: 'lango.files' }),
      '/message:send',
      userMessage('create a file b.txt with hello-there and then read b.txt'),
    );
    expect(full.text).toContain('hello-there');
    expect(bare.status).toBe(200);
    const [folder] = await readdir(path.join(server!.home, 'workspace'));
    expect(await readdir(path.join(server!.home, 'workspace', folder!))).toEqual(['b.txt']);
  });

  it('fetches keys again for an unknown key id, at most as often as allowed, and refuses tokens meanwhile', async () => {
    const keys = new JwtKeys({
      load: keysFromUrl(`${issuer.url}/keys`, (...call) => fetch(...call)),
      refreshSeconds: 600,
      cooldownSeconds: 0.05,
      logger: silentLogger,
    });
    const rules = {
      issuer: issuer.url,
      audience: [AUDIENCE],
      algorithms: ['ES256'],
      clockSkewSeconds: 0,
      requiredClaims: [],
      ownerClaim: 'sub',
      scopeClaim: 'scope',
    };
    const authenticator = createAuthenticator({ mode: 'jwt', jwt: { rules, keys }, logger: silentLogger });
    const outcome = async (token: string): Promise<string> => {
      const credentials = { authorization: `Bearer ${token}`, address: 'a', certificate: () => undefined };
      try {
        return (await authenticator.authenticate(credentials)).owner;
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    const pause = () => new Promise((resolve) => setTimeout(resolve, 60));
    issuer.isDown = true;
    const first = await issuer.token({ sub: 'alice' });
    expect(await outcome(first)).toBe('unavailable');
    issuer.isDown = false;
    await pause();
    expect(await outcome(first)).toBe('user:alice');
    await issuer.rotate();
    await pause();
    expect(await outcome(await issuer.token({ sub: 'alice' }))).toBe('user:alice');
    expect(await outcome(first)).toBe('user:alice');
    await issuer.rotate(false);
    const before = issuer.requests();
    const forged = await issuer.token({ sub: 'alice' });
    const begun = performance.now();
    for (let i = 0; i < 10; i += 1) expect(await outcome(forged)).toBe('unauthenticated');
    // At most one fetch for each pause between two fetches during the ten requests.
    expect(issuer.requests() - before).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - begun) / 50));
    await issuer.rotate();
  });
});
