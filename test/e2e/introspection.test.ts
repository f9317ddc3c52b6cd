import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AUDIENCE, startIssuer, type Issuer } from '../support/issuer.js';
import { startServer, type TestServer } from '../support/server.js';
import { RecordingServer } from '../support/token-server.js';

const SECRET = 'introspection-secret-90ab17';
let issuer: Issuer;
/** The introspection endpoint: its response for each token, and the requests it received. */
let endpoint: RecordingServer;
let says: Record<string, unknown>;
let server: TestServer | undefined;

beforeEach(async () => {
  issuer = await startIssuer();
  endpoint = await RecordingServer.open();
  says = {};
  endpoint.answer = ({ body }, response) => {
    const token = new URLSearchParams(body).get('token') ?? '';
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(says[token] ?? { active: false }));
  };
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
  await endpoint[Symbol.asyncDispose]();
  await issuer.close();
});

async function start(more: object = {}): Promise<TestServer> {
  const introspection = { url: endpoint.url, clientId: 'lango', clientSecret: SECRET, ...more };
  server = await startServer({
    settings: { auth: { mode: 'jwt', jwt: { issuer: issuer.url, audience: [AUDIENCE] }, introspection } },
  });
  return server;
}

async function status(token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${server!.address.origin}/tasks`, { headers })).status;
}

const seconds = (from: number): number => Math.floor(Date.now() / 1_000) + from;
const good = () => ({ active: true, sub: 'ada', aud: AUDIENCE, iss: issuer.url, exp: seconds(60) });

describe('an opaque token', () => {
  it('is introspected once for many requests, and names its owner', async () => {
    await start();
    says['opaque-1'] = good();
    says['opaque-2'] = { ...good(), sub: 'bob' };
    expect(await Promise.all(Array.from({ length: 20 }, () => status('opaque-1')))).toEqual(
      Array(20).fill(200),
    );
    expect(endpoint.received).toHaveLength(1);
    expect(endpoint.received[0]!.headers.authorization).toBe(`Basic ${btoa(`lango:${SECRET}`)}`);
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] };
    const send = { method: 'POST', body: JSON.stringify({ message }) };
    const asking = {
      ...send,
      headers: { authorization: 'Bearer opaque-1', 'content-type': 'application/json' },
    };
    const { task } = (await (await fetch(`${server!.address.origin}/message:send`, asking)).json()) as {
      task: { id: string };
    };
    const seen = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch(`${server!.address.origin}/tasks/${task.id}`, { headers })).status;
    };
    expect([await seen('opaque-1'), await seen('opaque-2')]).toEqual([200, 404]);
    expect(server!.log.lines.join('\n')).not.toContain('opaque-1');
  });

  it.each([
    ['that is not active', () => ({ ...good(), active: false })],
    ['that has ended', () => ({ ...good(), exp: seconds(-1) })],
    ['with an end that is no number', () => ({ ...good(), exp: String(seconds(60)) })],
    ['for another server', () => ({ ...good(), aud: 'other' })],
    ['for nobody', () => ({ ...good(), aud: undefined })],
    ['of another issuer', () => ({ ...good(), iss: 'https://evil.example' })],
    ['without an owner', () => ({ ...good(), sub: undefined })],
    ['with an owner that is no name', () => ({ ...good(), sub: { name: 'ada' } })],
  ])('is refused as one %s', async (_, answer) => {
    await start();
    says['opaque'] = answer();
    expect([await status('opaque'), await status('opaque')]).toEqual([401, 401]);
    expect(endpoint.received).toHaveLength(1);
  });

  it.each([
    ['an error', (end: (code: number, body: string) => void) => end(500, '')],
    ['a page', (end: (code: number, body: string) => void) => end(200, '<p>')],
    ['no word about it', (end: (code: number, body: string) => void) => end(200, '{"sub":"ada"}')],
    [
      'a yes in words',
      (end: (code: number, body: string) => void) => end(200, '{"active":"true","sub":"ada"}'),
    ],
    [
      'megabytes',
      (end: (code: number, body: string) => void) => end(200, `{"active":true,"x":"${'x'.repeat(1e6)}"}`),
    ],
  ])('gets 503 when the issuer responds with %s, and is introspected again', async (_, answer) => {
    await start();
    endpoint.answer = (__, response) => answer((code, body) => response.writeHead(code).end(body));
    expect([await status('opaque'), await status('opaque')]).toEqual([503, 503]);
    expect(endpoint.received).toHaveLength(2);
  });

  it('is refused after its revocation once the cache has expired', async () => {
    await start({ cacheSeconds: 0 });
    says['opaque'] = good();
    expect(await status('opaque')).toBe(200);
    says['opaque'] = { active: false };
    expect(await status('opaque')).toBe(401);
  });
});

describe('a signed token', () => {
  it('is introspected only when introspection is set to always', async () => {
    await start();
    const token = await issuer.token({ sub: 'ada' });
    expect([await status(token), endpoint.received.length]).toEqual([200, 0]);
    await server!.stop();
    await start({ always: true });
    expect(await status(token)).toBe(401);
    says[token] = good();
    const later = await issuer.token({ sub: 'ada', jti: 'other' });
    says[later] = good();
    expect(await status(later)).toBe(200);
    const forged = `${later.slice(0, -6)}AAAAAA`;
    says[forged] = good();
    expect(await status(forged)).toBe(401);
    expect(endpoint.received.map(({ body }) => body).join()).not.toContain(forged);
  });
});

describe('a foreign client', () => {
  it('signs in with the information on the card alone', async () => {
    server = await startServer({
      settings: {
        auth: {
          mode: 'jwt',
          jwt: {
            issuer: issuer.url,
            audience: [AUDIENCE],
            scopes: [{ agent: 'lango-orchestrator', scope: 'use' }],
          },
        },
      },
    });
    // The metadata of the issuer is read in the background.
    const current = { headers: { 'A2A-Version': '1.0' } };
    let card: Card;
    do
      card = (await (
        await fetch(`${server.address.origin}/.well-known/agent-card.json`, current)
      ).json()) as Card;
    while (!card.securitySchemes['oauth2Client']);
    const { flows, description } = card.securitySchemes['oauth2Client'].oauth2SecurityScheme;
    expect(description).toContain(AUDIENCE);
    const { tokenUrl, scopes } = flows.clientCredentials;
    const alternatives = card.securityRequirements.map(({ schemes }) => Object.keys(schemes)[0]);
    expect(alternatives).toEqual(['openIdConnect', 'oauth2Code', 'oauth2Client', 'oauth2Device']);
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      scope: Object.keys(scopes).join(' '),
    });
    const answer = await fetch(tokenUrl, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('them:x')}` },
      body,
    });
    const { access_token: token } = (await answer.json()) as { access_token: string };
    expect(await status(token)).toBe(200);
  });
});

interface Card {
  readonly securitySchemes: Record<
    string,
    {
      readonly oauth2SecurityScheme: {
        readonly description: string;
        readonly flows: { readonly clientCredentials: { tokenUrl: string; scopes: Record<string, string> } };
      };
    }
  >;
  readonly securityRequirements: readonly { readonly schemes: Record<string, unknown> }[];
}
