import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { langoHere } from '../../cli/lango-here.js';
import { makeHome, type Result } from '../../cli/lango-process.js';
import { openLoginServer, type LoginServer } from '../../support/login-server.js';
import { Obedient, untilOffered } from '../../support/obedient-model.js';
import { sendText, startServer } from '../../support/server.js';
import type { RecordingServer } from '../../support/token-server.js';

/** Slow issuers and MCP servers: each of their responses may take at most 15 seconds. */

const DRIBBLE_MS = 200;
const WAYS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'never answers': () => undefined,
  dribbles(response) {
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(' '), DRIBBLE_MS);
    response.on('close', () => clearInterval(timer));
  },
};
interface Slow {
  readonly party: 'mcp' | 'issuer';
  readonly path: string;
  readonly flags?: readonly string[];
  readonly ways?: readonly string[];
}

const SLOW: readonly Slow[] = [
  // The client does not read the body of this response.
  { party: 'mcp', path: '/mcp', ways: ['never answers'] },
  { party: 'mcp', path: '/.well-known/oauth-protected-resource/mcp' },
  { party: 'issuer', path: '/.well-known/oauth-authorization-server' },
  { party: 'issuer', path: '/register' },
  { party: 'issuer', path: '/device', flags: ['--device'] },
  { party: 'issuer', path: '/token', flags: ['--device', '--no-browser'] },
];
const CASES = SLOW.flatMap(({ flags = ['--no-browser'], ways = Object.keys(WAYS), ...at }) =>
  flags.flatMap((flag) => ways.map((way) => ({ ...at, way, flag }))),
);
type Case = (typeof CASES)[number];

/** Makes the party respond in this way to each later request to the path. */
function slowDown(party: RecordingServer, path: string, way: string): void {
  const { answer } = party;
  party.answer = (request, response) =>
    request.url === path ? WAYS[way]!(response) : answer(request, response);
}

const open: LoginServer[] = [];

async function login({ party, path, way, flag }: Case): Promise<Result> {
  const far = await openLoginServer();
  open.push(far);
  slowDown(far[party], path, way);
  const docs = { url: far.url, login: { issuer: far.issuer.url } };
  const home = await makeHome(JSON.stringify({ mcp: { servers: { docs } } }));
  const onNote = (note: string): void => {
    const page = /Sign in here:\n(\S+)/.exec(note)?.[1];
    if (page) void fetch(page).catch(() => undefined);
  };
  try {
    return await langoHere(['mcp', 'login', 'docs', flag], { env: home.env, onNote });
  } finally {
    await home.remove();
  }
}

/** Makes two concurrent calls while the server refuses the token and the issuer is slow. */
async function callTwice(way: string): Promise<{ before: string; ends: readonly string[]; grants: number }> {
  const far = await openLoginServer();
  open.push(far);
  const docs = { url: far.url, login: { issuer: far.issuer.url } };
  const home = await makeHome(JSON.stringify({ mcp: { servers: { docs } } }));
  const model = new Obedient();
  const settings = { server: { port: 0 }, mcp: { servers: { docs } } };
  const server = await startServer({ home: home.folder, model, settings });
  try {
    const env = { ...home.env, LANGO_URL: server.address.origin };
    await langoHere(['mcp', 'login', 'docs', '--device'], { env });
    await untilOffered('mcp_docs_whoami', model, server);
    const ask = async () => (await sendText(server, 'mcp_docs_whoami {}', { agent: 'operator' })).end.text;
    const before = await ask();
    slowDown(far.issuer, '/token', way);
    far.refuseAccess('ada');
    const ends = await Promise.all([ask(), ask()]);
    return { before, ends, grants: far.grants('refresh_token').length };
  } finally {
    await server.stop();
    await home.remove();
  }
}

describe('a slow issuer or MCP server', () => {
  // All run at the same time, because each takes as long as a response may take.
  const logins = new Map<Case, Promise<Result>>();
  const calls = new Map<string, ReturnType<typeof callTwice>>();
  beforeAll(() => {
    for (const one of CASES) logins.set(one, login(one));
    for (const way of Object.keys(WAYS)) calls.set(way, callTwice(way));
  });
  afterAll(async () => {
    await Promise.allSettled([...logins.values(), ...calls.values()]);
    for (const far of open) await far[Symbol.asyncDispose]();
  });

  it.each(CASES)('makes a sign-in fail with a plain message: $flag, $party $path $way', async (one) => {
    const { code, stdout, stderr } = (await logins.get(one))!;
    expect(stderr).toMatch(/^error: 127\.0\.0\.1:\d+ did not respond within 15000 ms\.$/m);
    expect([code, stdout]).toEqual([1, '']);
  });

  it.each(Object.keys(WAYS))(
    'gets one request from two concurrent calls when it %s, and the calls fail with a plain message',
    async (way) => {
      const { before, ends, grants } = (await calls.get(way))!;
      expect(before).toContain('you are ada');
      for (const end of ends) expect(end).toMatch(/did not respond within 15000 ms|is not renewed yet/);
      expect(grants).toBe(1);
    },
  );
});
