import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { LangoError } from '../../src/index.js';
import type { LoginOptions } from '../../src/capabilities/mcp/issuer.js';
import { signInByBrowser, signInByDevice } from '../../src/capabilities/mcp/login.js';
import { cases, type Case, type Outcome, type Scene } from './corpus.js';
import type { Random } from './fuzz/random.js';
import { give } from './stranger.js';

const CALLBACK = 'http://127.0.0.1:9/callback';
const LONGEST_MS = 3_000;
const MEMBERS = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'device'] as const;
/** The ways in which the metadata of a hostile issuer write an address of the honest one. */
const ADDRESSES: readonly ((honest: string) => unknown)[] = [
  (honest) => honest,
  (honest) => honest.toUpperCase(),
  (honest) => honest.replace('//', '//127.0.0.1:80@'),
  (honest) => honest.replace('http:', ''),
  (honest) => honest.replace('//', '\\\\'),
  (honest) => honest.replace('localhost', 'lo\tcalhost'),
  (honest) => ` ${honest}`,
  (honest) => [honest],
  (honest) => ({ href: honest }),
];

interface MixUp {
  /** The endpoint that the metadata names at the honest issuer; undefined: the page of the hostile one leads there. */
  readonly member?: (typeof MEMBERS)[number] | undefined;
  readonly address: number;
  /** Whether the hostile issuer says that its redirects say who it is. */
  readonly saysIss?: boolean | undefined;
}

const mixUp = (random: Random): MixUp => ({
  member: random.chance(15) ? undefined : random.pick(MEMBERS),
  address: random.below(ADDRESSES.length),
  saysIss: random.pick([true, false, undefined]),
});

/** Sign-ins at an MCP server whose issuer leads people to the page of an honest one (RFC 9700 section 4.4). */
export function mixUps(): readonly Case[] {
  return [
    { name: 'an issuer with its own page', isRight: true, act: (scene) => act(scene) },
    ...cases(70, mixUp, act),
  ];
}

/** The stranger is the hostile issuer and, by another name, the honest one. */
async function act({ stranger }: Scene, tried?: MixUp): Promise<Outcome> {
  const [own, honest] = [stranger.url, stranger.url.replace('127.0.0.1', 'localhost')];
  const found: string[] = [];
  const endpoint = (member: (typeof MEMBERS)[number], path: string): unknown =>
    tried?.member === member ? ADDRESSES[tried.address]!(honest + path) : own + path;
  const metadata = {
    issuer: own,
    authorization_endpoint: endpoint('authorization_endpoint', '/authorize'),
    token_endpoint: endpoint('token_endpoint', '/token'),
    registration_endpoint: endpoint('registration_endpoint', '/register'),
    device_authorization_endpoint: endpoint('device', '/device'),
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: tried?.saysIss,
  };
  const answer = (url: URL, body: string, response: ServerResponse): void => {
    const isHonest = url.hostname === 'localhost';
    const isLed = tried !== undefined && tried.member === undefined;
    if (isHonest && !isLed) found.push(`the honest issuer got ${url.pathname}`);
    if (!isHonest && body.includes('honest-code')) found.push('the hostile issuer got the code');
    if (url.pathname === '/register') {
      response.statusCode = 201;
      return give(response, { ...(JSON.parse(body) as object), client_id: 'c' });
    }
    if (url.pathname === '/token')
      return give(response, { access_token: 'access-0123456789', token_type: 'Bearer', expires_in: 60 });
    if (url.pathname === '/.well-known/oauth-authorization-server') return give(response, metadata);
    if (url.pathname !== '/authorize') return void response.writeHead(401).end();
    if (isLed && !isHonest)
      return void response.writeHead(302, { location: `${honest}/authorize${url.search}` }).end();
    const back = new URL(CALLBACK);
    const state = url.searchParams.get('state') ?? '';
    const said = {
      state,
      ...(isHonest ? { code: 'honest-code', iss: honest } : { code: 'own-code', iss: own }),
    };
    back.search = new URLSearchParams(said).toString();
    response.writeHead(302, { location: back.href }).end();
  };
  stranger.answer = (request, response) => {
    const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
    void text(request).then((body) => answer(url, body, response));
  };
  const outcome = await signIn(own, tried?.member === 'device');
  return found.length > 0 ? { finding: found.join(', ') } : outcome;
}

async function signIn(issuer: string, isDevice: boolean): Promise<Outcome> {
  const options = {
    name: 'docs',
    url: `${issuer}/mcp`,
    issuer,
    scopes: [],
    fetch,
  } as unknown as LoginOptions;
  const signal = AbortSignal.timeout(LONGEST_MS);
  const { promise: back, resolve, reject } = Promise.withResolvers<URL>();
  back.catch(() => undefined);
  const show = ({ url }: { readonly url: string }): void => void open(url).then(resolve, reject);
  try {
    if (isDevice) await signInByDevice(options, { signal, show });
    else await signInByBrowser(options, { signal, show, callback: { url: CALLBACK, receive: () => back } });
    return 'taken';
  } catch (error) {
    return error instanceof LangoError
      ? 'refused'
      : { finding: `an error of no type of ours: ${String(error)}` };
  }
}

/** Opens a page as a browser does, until it leads back to the callback. */
async function open(page: string): Promise<URL> {
  const response = await fetch(page, { redirect: 'manual' });
  const next = new URL(response.headers.get('location') ?? '');
  return next.href.startsWith(CALLBACK) ? next : open(next.href);
}
