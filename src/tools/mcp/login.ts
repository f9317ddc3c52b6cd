import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client';
import type { ClientAuth, Configuration, ServerMetadata } from 'openid-client';
import { z } from 'zod';
import { causesOf, isLangoError, LangoError, loadPackage } from '../../core/errors.js';
import { oneLine, shorten } from '../../core/text.js';

/** How a person signs in at one server. */
export interface LoginOptions {
  readonly name: string;
  readonly url: string;
  /** The only issuer to sign in at. Default: the one that the server names. */
  readonly issuer: string | undefined;
  /** The token endpoint, in place of the one that the issuer names. */
  readonly tokenUrl: string | undefined;
  /** The id of this client at the issuer. Default: it is registered there. */
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  /** Default: those that the server names. */
  readonly scopes: readonly string[];
  /** Scopes to ask for in addition. */
  readonly furtherScopes: readonly string[];
  /** The egress client. */
  readonly fetch: typeof fetch;
  /** Authenticates this client with its secret in a header. */
  readonly basicAuth: (secret: string) => ClientAuth;
}

/** The kept tokens of a person, with what is needed to renew them. All of it is a secret. */
export const signIn = z.object({
  /** The server that the tokens are for. */
  url: z.string(),
  issuer: z.string(),
  endpoint: z.url({ protocol: /^https?$/ }),
  clientId: z.string(),
  clientSecret: z.string().optional(),
  authMethod: z.enum(['none', 'client_secret_basic', 'client_secret_post']),
  resource: z.string(),
  accessToken: z
    .string()
    .max(8_192)
    .regex(/^[\x21-\x7e]+$/),
  refreshToken: z.string().max(4_096).optional(),
  /** Milliseconds since the epoch. */
  expiresAt: z.number(),
  /** Set while a process renews the tokens: milliseconds since the epoch. */
  renewedSince: z.number().optional(),
});
export type SignIn = z.output<typeof signIn>;

/** The page that a person opens, and the code to type there. */
interface LoginPage {
  readonly url: string;
  readonly code?: string;
}

interface Flow {
  readonly signal: AbortSignal;
  readonly show: (page: LoginPage) => void;
}

/** Receives the redirect of the browser. */
export interface Callback {
  readonly url: string;
  /** Resolves with the address of the redirect whose `state` is this one. */
  receive(state: string): Promise<URL>;
}

const DEFAULT_SECONDS = 300;
const LONGEST_SECONDS = 30 * 86_400;
const LONGEST_TEXT = 300;
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** The redirect address of a client that never gets a redirect, because registration asks for one. */
const NO_REDIRECT = 'http://127.0.0.1/callback';

const mcpLibrary = () => import('@modelcontextprotocol/client');
const oauthLibrary = () => loadPackage('openid-client', () => import('openid-client'));

/** The issuer that was found, and what is asked of it. */
interface Issuer {
  readonly metadata: AuthorizationServerMetadata;
  readonly scope: string | undefined;
  readonly resource: string;
}

/** Signs in with a browser on this machine: authorization code with PKCE, and a redirect to a loopback address. */
export function signInByBrowser(
  options: LoginOptions,
  { signal, show, callback }: Flow & { readonly callback: Callback },
): Promise<SignIn> {
  return explained(options, async () => {
    const library = await oauthLibrary();
    const issuer = await findIssuer(options);
    const { metadata, scope, resource } = issuer;
    // Without PKCE, a stolen code would be a stolen sign-in.
    if (!metadata.code_challenge_methods_supported?.includes('S256'))
      throw unusable(options, 'its issuer does not support PKCE with S256');
    const { configuration, client } = await register(issuer, options, callback.url);
    const [state, verifier] = [library.randomState(), library.randomPKCECodeVerifier()];
    const page = library.buildAuthorizationUrl(configuration, {
      redirect_uri: callback.url,
      code_challenge: await library.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...{ state, resource, ...(scope !== undefined && { scope }) },
      ...(scope?.split(' ').includes('offline_access') && { prompt: 'consent' }),
    });
    show({ url: page.href });
    const address = await abortable(callback.receive(state), signal);
    const checks = { expectedState: state, pkceCodeVerifier: verifier };
    const answer = await library.authorizationCodeGrant(configuration, address, checks, { resource });
    return kept(issuer, answer, { ...client, url: options.url });
  });
}

/** A code and an address that a terminal can show. */
const devicePage = z.object({
  user_code: z.string().regex(/^[\x21-\x7e]{1,64}$/),
  verification_uri: z.url({ protocol: /^https?$/ }).max(2_000),
});
const SHORTEST_INTERVAL_SECONDS = 1;

/** Signs in by a code that a person types on another device (RFC 8628). */
export function signInByDevice(options: LoginOptions, { signal, show }: Flow): Promise<SignIn> {
  return explained(options, async () => {
    const library = await oauthLibrary();
    const issuer = await findIssuer(options);
    const { scope, resource } = issuer;
    if (deviceEndpoint(issuer.metadata) === undefined)
      throw unusable(options, 'its issuer offers no sign-in by a code', 'Leave --device out.');
    const { configuration, client } = await register(issuer, options, NO_REDIRECT);
    const asked = { resource, ...(scope !== undefined && { scope }) };
    const begun = await library.initiateDeviceAuthorization(configuration, asked);
    const { user_code: code, verification_uri: url } = devicePage.parse(begun);
    show({ url, code });
    const interval = Math.max(SHORTEST_INTERVAL_SECONDS, begun.interval ?? 5);
    const answer = await library.pollDeviceAuthorizationGrant(
      configuration,
      { ...begun, interval },
      { resource },
      { signal },
    );
    return kept(issuer, answer, { ...client, url: options.url });
  });
}

/** Gets new tokens. Rejects with `unauthenticated` when the sign-in has ended. */
export async function renew(options: LoginOptions, before: SignIn): Promise<SignIn> {
  if (before.refreshToken === undefined) throw notSignedIn(options);
  const { refreshTokenGrant } = await oauthLibrary();
  const metadata = { issuer: before.issuer, token_endpoint: before.endpoint };
  try {
    const configuration = await configure(metadata, before, options);
    const tokens = await refreshTokenGrant(configuration, before.refreshToken, { resource: before.resource });
    return signIn.parse({ ...before, ...tokensOf(tokens), renewedSince: undefined });
  } catch (error) {
    if (ENDED.has(codeIn(error))) throw notSignedIn(options);
    throw typed(options, error);
  }
}

/** The error of a sign-in that has ended, or was never made. */
export function notSignedIn({ name }: Pick<LoginOptions, 'name'>): LangoError {
  return new LangoError('unauthenticated', `Nobody is signed in at the MCP server ${name}, or no longer.`, {
    hint: `Run: lango mcp login ${name}`,
  });
}

/** Scopes that a person can copy into a command. */
const PLAIN_SCOPES = /^[\w:./~-]{1,100}( [\w:./~-]{1,100}){0,9}$/;

/** Rejects when a server refuses with 403 because it wants further scopes (RFC 6750), with the command that asks for them. */
export async function assertScope(response: Response, { name }: Pick<LoginOptions, 'name'>): Promise<void> {
  const { extractWWWAuthenticateParams } = await mcpLibrary();
  const { error, scope = '' } = extractWWWAuthenticateParams(response);
  if (error !== 'insufficient_scope' || !PLAIN_SCOPES.test(scope)) return;
  await response.body?.cancel().catch(() => undefined);
  throw new LangoError('forbidden', `The MCP server ${name} wants the scope ${scope}.`, {
    hint: `Run: lango mcp login ${name} --scope "${scope}"`,
  });
}

/** Finds the issuer of the server's tokens (RFC 9728) and its metadata (RFC 8414). */
async function findIssuer(options: LoginOptions): Promise<Issuer> {
  const { name, url, issuer: wanted, fetch } = options;
  const library = await mcpLibrary();
  const { resourceMetadataUrl, scope: asked } = await challengeOf(options);
  if (resourceMetadataUrl && resourceMetadataUrl.origin !== new URL(url).origin)
    throw lies(`The MCP server ${name} says that its metadata is at ${resourceMetadataUrl.origin}`);
  const described = await library
    .discoverOAuthProtectedResourceMetadata(
      url,
      resourceMetadataUrl ? { resourceMetadataUrl } : {},
      fetch as never,
    )
    .catch((error: unknown) => {
      const own = causesOf(error).find((cause) => isLangoError(cause));
      if (own) throw own;
      return undefined;
    });
  const resource = described?.resource ?? url;
  if (!library.checkResourceAllowed({ requestedResource: url, configuredResource: resource }))
    throw lies(`The metadata of the MCP server ${name} is that of ${resource}`);
  const named: readonly string[] = described?.authorization_servers ?? [];
  if (wanted !== undefined && named.length > 0 && !named.some((one) => isSameUrl(one, wanted)))
    throw lies(`The MCP server ${name} names the issuer ${named[0]}, and not ${wanted}`);
  const issuer = wanted ?? named[0] ?? new URL('/', url).href;
  const isKnown = wanted !== undefined || URL.parse(issuer)?.origin === new URL(url).origin;
  if (!isKnown && !issuer.startsWith('https:'))
    throw lies(
      `The MCP server ${name} names the issuer ${issuer}, which has no https`,
      `Nobody was signed in. If it is the right issuer, set mcp.servers.${name}.login.issuer to it.`,
    );
  const metadata = await library.discoverAuthorizationServerMetadata(issuer, { fetchFn: fetch });
  if (!metadata) throw unusable(options, `its issuer ${issuer} has no metadata`);
  if (options.tokenUrl !== undefined) metadata.token_endpoint = options.tokenUrl;
  assertOwnEndpoints(metadata, issuer, options);
  const wantedScopes = options.scopes.join(' ') || asked || described?.scopes_supported?.join(' ') || '';
  // Without it, many issuers give no refresh token.
  const offline = (metadata.scopes_supported ?? []).filter((scope) => scope === 'offline_access');
  const scopes = new Set([...wantedScopes.split(' '), ...options.furtherScopes, ...offline].filter(Boolean));
  return { metadata, resource, scope: [...scopes].join(' ') || undefined };
}

/** Reads the challenge with which the server refuses a request without a token. */
async function challengeOf({ url, fetch: send }: LoginOptions) {
  const { extractWWWAuthenticateParams } = await mcpLibrary();
  const answer = await send(url, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  });
  await answer.body?.cancel().catch(() => undefined);
  return extractWWWAuthenticateParams(answer);
}

/** Metadata must not send codes, secrets or tokens to another server than the issuer. */
function assertOwnEndpoints(
  metadata: AuthorizationServerMetadata,
  issuer: string,
  { tokenUrl }: LoginOptions,
): void {
  const { token_endpoint, registration_endpoint } = metadata;
  const named = {
    ...(tokenUrl === undefined && { token_endpoint }),
    registration_endpoint,
    device_authorization_endpoint: deviceEndpoint(metadata),
  };
  const origin = new URL(issuer).origin;
  for (const [member, endpoint] of Object.entries(named)) {
    const other = endpoint === undefined ? origin : URL.parse(endpoint)?.origin;
    if (other !== origin)
      throw lies(`The issuer ${issuer} names the ${member} at ${other ?? 'no address'}`, TOKEN_URL_HINT);
  }
}

const TOKEN_URL_HINT =
  'Nobody was signed in. If another token endpoint is right, set login.tokenUrl; else ask who runs that issuer.';

function deviceEndpoint(metadata: AuthorizationServerMetadata): string | undefined {
  const { device_authorization_endpoint: endpoint } = metadata as Readonly<Record<string, unknown>>;
  return typeof endpoint === 'string' ? endpoint : undefined;
}

type Client = Pick<SignIn, 'clientId' | 'clientSecret' | 'authMethod'>;

/** Takes the configured client, or registers one (RFC 7591). */
async function register(issuer: Issuer, options: LoginOptions, redirectUrl: string) {
  const { metadata, scope } = issuer;
  const { clientId, clientSecret, fetch } = options;
  const { registerClient, selectClientAuthMethod } = await mcpLibrary();
  if (clientId === undefined && metadata.registration_endpoint === undefined)
    throw unusable(
      options,
      'its issuer registers no clients by itself',
      `Register Lango at ${metadata.issuer}, and set mcp.servers.${options.name}.login.clientId.`,
    );
  const information =
    clientId === undefined
      ? await registerClient(metadata.issuer, {
          metadata,
          clientMetadata: {
            client_name: 'Lango',
            application_type: 'native',
            redirect_uris: [redirectUrl],
            grant_types: ['authorization_code', 'refresh_token', DEVICE_GRANT],
            response_types: ['code'],
            token_endpoint_auth_method: 'none',
          },
          ...(scope === undefined ? {} : { scope }),
          fetchFn: fetch,
        })
      : { client_id: clientId, ...(clientSecret && { client_secret: clientSecret }) };
  const methods = metadata.token_endpoint_auth_methods_supported ?? [];
  const client = {
    clientId: information.client_id,
    clientSecret: information.client_secret,
    authMethod: selectClientAuthMethod(information, methods),
  };
  return { client, configuration: await configure(metadata as ServerMetadata, client, options) };
}

async function configure(
  metadata: ServerMetadata,
  { clientId, clientSecret = '', authMethod }: Client,
  { fetch: send, url, issuer, tokenUrl, basicAuth }: LoginOptions,
): Promise<Configuration> {
  const library = await oauthLibrary();
  const auth = {
    none: () => library.None(),
    client_secret_basic: () => basicAuth(clientSecret),
    client_secret_post: () => library.ClientSecretPost(clientSecret),
  }[authMethod]();
  const configuration = new library.Configuration(metadata, clientId, undefined, auth);
  configuration[library.customFetch] = (address: string, init: unknown) =>
    send(address, { ...(init as RequestInit), redirect: 'error' });
  // The operator chose these addresses.
  const plain = [url, issuer, tokenUrl].filter((address) => address?.startsWith('http:'));
  if (plain.some((address) => new URL(address!).origin === URL.parse(metadata.token_endpoint ?? '')?.origin))
    library.allowInsecureRequests(configuration);
  return configuration;
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string | undefined;
  readonly expires_in?: number | undefined;
}

function kept({ metadata, resource }: Issuer, tokens: Tokens, client: Client & Pick<SignIn, 'url'>): SignIn {
  const { issuer, token_endpoint: endpoint } = metadata;
  return signIn.parse({ ...client, resource, issuer, endpoint, ...tokensOf(tokens) });
}

function tokensOf({ access_token, refresh_token, expires_in = DEFAULT_SECONDS }: Tokens) {
  const seconds = Math.min(Math.max(expires_in, 1), LONGEST_SECONDS);
  return {
    accessToken: access_token,
    ...(refresh_token === undefined ? {} : { refreshToken: refresh_token }),
    expiresAt: Date.now() + seconds * 1_000,
  };
}

function lies(what: string, hint = 'Nobody was signed in. Ask who runs that server.'): LangoError {
  const text = `${shorten(oneLine(what), LONGEST_TEXT)}: nothing was sent there.`;
  return new LangoError('forbidden', text, { hint });
}

function unusable({ name }: LoginOptions, why: string, hint?: string): LangoError {
  const text = `Nobody can sign in at the MCP server ${name}: ${shorten(oneLine(why), LONGEST_TEXT)}.`;
  return new LangoError('unavailable', text, hint === undefined ? {} : { hint });
}

const CODE = /^[a-z_]{1,40}$/;
const ENDED: ReadonlySet<unknown> = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client']);

/** The error code of RFC 6749 in an error of the libraries. */
function codeIn(error: unknown): string | undefined {
  const { error: code } = (error ?? {}) as { readonly error?: unknown };
  return typeof code === 'string' && CODE.test(code) ? code : undefined;
}

async function explained<T>(options: LoginOptions, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw typed(options, error);
  }
}

/** Errors quote no text of an answer, which may repeat what was sent. */
function typed(options: LoginOptions, error: unknown): Error {
  const own = causesOf(error).find((cause) => isLangoError(cause));
  if (own) return own;
  const code = codeIn(error);
  if (code !== undefined)
    return new LangoError('unauthenticated', `The issuer of ${options.name} signed nobody in: ${code}.`, {
      hint: `Try again: lango mcp login ${options.name}`,
    });
  const { name } = error as { readonly name?: unknown };
  const why = typeof name === 'string' && /^[A-Za-z]{1,60}$/.test(name) ? name : 'Error';
  return new LangoError(
    'unavailable',
    `The sign-in at the MCP server ${options.name} failed (${why}): the answers of its issuer are wrong.`,
    { cause: error },
  );
}

function isSameUrl(one: string, other: string): boolean {
  return URL.parse(one)?.href === URL.parse(other)?.href;
}

function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    work.then(resolve, reject);
  });
}
