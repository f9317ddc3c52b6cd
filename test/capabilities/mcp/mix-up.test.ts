import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { langoHere } from '../../cli/lango-here.js';
import { makeHome } from '../../cli/lango-process.js';
import { openLoginServer, type LoginServer, type Misbehavior } from '../../support/login-server.js';

/** The mix-up of issuers (RFC 9700 section 4.4), by the real command. The honest issuer has pages for people too. */

const JSON_TYPE = { 'content-type': 'application/json' };
let far: LoginServer;
let honest: LoginServer;

beforeAll(async () => {
  [far, honest] = await Promise.all([openLoginServer(), openLoginServer()]);
});
afterAll(async () => {
  await far[Symbol.asyncDispose]();
  await honest[Symbol.asyncDispose]();
});

/** Signs in at the hostile issuer by a person who opens each page. Resolves with what the command said. */
async function login(misbehavior: Misbehavior, flags: readonly string[] = []): Promise<string> {
  far.misbehavior = misbehavior;
  const docs = { url: far.url, login: { issuer: far.issuer.url } };
  const home = await makeHome(JSON.stringify({ mcp: { servers: { docs } } }));
  const onNote = (note: string): void => {
    const page = /Sign in here:\n(\S+)/.exec(note)?.[1];
    if (page !== undefined) void fetch(page).catch(() => undefined);
  };
  const { env } = home;
  const { code, stderr } = await langoHere(['mcp', 'login', 'docs', '--no-browser', ...flags], {
    env,
    onNote,
  });
  await home.remove();
  expect(code).not.toBe(0);
  return stderr;
}

describe('a hostile issuer that leads people to the page of an honest one', () => {
  const codesAt = (issuer: LoginServer) => issuer.grants('authorization_code');

  it.each([
    ['which sends no iss', ''],
    ['which sends its iss', 'own'],
  ])('by its metadata opens no page, and gets no code: %s', async (_, iss) => {
    honest.misbehavior = iss === '' ? { redirect: { iss } } : {};
    const [before, asked] = [codesAt(far).length, honest.issuer.received.length];
    const said = await login({
      metadata: {
        authorization_endpoint: `${honest.issuer.url}/authorize`,
        authorization_response_iss_parameter_supported: false,
      },
    });
    expect(said).toContain(
      `names the authorization_endpoint at ${honest.issuer.url}: nothing was sent there.`,
    );
    expect(codesAt(far)).toHaveLength(before);
    expect(honest.issuer.received).toHaveLength(asked);
  });

  it('by a redirect gets no code, because the honest one says who it is', async () => {
    honest.misbehavior = {};
    const before = codesAt(far).length;
    const to = ({ url }: { readonly url: string }) => honest.issuer.url + url;
    const said = await login({
      metadata: { authorization_response_iss_parameter_supported: false },
      answer: (request, response) =>
        request.url.startsWith('/authorize') &&
        Boolean(response.writeHead(302, { location: to(request) }).end()),
    });
    expect(said).toContain(`docs lets ${new URL(far.issuer.url).host} sign people in.`);
    expect(said).toContain('the responses of its issuer are wrong');
    expect(codesAt(far)).toHaveLength(before);
  });

  it('by its device page is named before the person types a code there', async () => {
    const body = { device_code: 'd', user_code: 'ABCD', expires_in: 1, interval: 1 };
    const page = `${honest.issuer.url}/activate`;
    const said = await login(
      {
        answer: ({ url }, response) => {
          const answers = {
            '/device': { ...body, verification_uri: page },
            '/token': { error: 'access_denied' },
          };
          const given = answers[url as '/device'] as object | undefined;
          if (given) response.writeHead('error' in given ? 400 : 200, JSON_TYPE).end(JSON.stringify(given));
          return given !== undefined;
        },
      },
      ['--device'],
    );
    const [host, own] = [honest.issuer.url, far.issuer.url].map((url) => new URL(url).host);
    expect(said).toMatch(
      new RegExp(`docs lets ${own} sign.*\n.*${host} is not ${own}: go on only.*\n.*Open ${page}`),
    );
  });
});
