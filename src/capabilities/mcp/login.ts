import type { Configuration, ServerMetadata, TokenEndpointResponse as Tokens } from 'openid-client';
import { z } from 'zod';
import { causesOf, isLangoError, LangoError, loadPackage } from '../../core/errors.js';
import { abortable } from '../../core/time.js';
import { basicAuth } from '../../http/oauth-client.js';
import { endpointIn, findIssuer, mcpLibrary, unusable, type Issuer, type LoginOptions } from './issuer.js';

/** The kept tokens of a person, with what is needed to renew them. All of it is a secret. */
export const signIn = z.object({
  /** The server that the tokens are for. */
  url: z.string(),
  issuer: z.string(),
  endpoint: z.url({ protocol: /^https?$/ }),
  /** The address that ends tokens (RFC 7009); undefined when the issuer has none. */
  revocation: z.url({ protocol: /^https?$/ }).optional(),
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

/** The page where a person signs in. */
export interface SignInPage {
  readonly url: string;
  readonly code?: string;
  /** The issuer, which gets the person's permission. Its page may lead to that of another one. */
  readonly issuer: string;
}

interface Flow {
  readonly signal: AbortSignal;
  readonly show: (page: SignInPage) => void;
}

/** Receives the redirect of the browser. */
export interface Callback {
  readonly url: string;
  /** Resolves with the address of the redirect whose `state` is this one. */
  receive(state: string): Promise<URL>;
}

const DEFAULT_SECONDS = 300;
const LONGEST_SECONDS = 30 * 86_400;
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** The redirect address of a client that never gets a redirect, because registration asks for one. */
const NO_REDIRECT = 'http://127.0.0.1/callback';

const oauthLibrary = () => loadPackage('openid-client', () => import('openid-client'));

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
    show({ url: page.href, issuer: metadata.issuer });
    const address = await abortable(callback.receive(state), signal);
    const checks = { expectedState: state, pkceCodeVerifier: verifier };
    const tokens = await library.authorizationCodeGrant(configuration, address, checks, { resource });
    return kept(issuer, tokens, { ...client, url: options.url });
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
    if (endpointIn(issuer.metadata, 'device_authorization_endpoint') === undefined)
      throw unusable(options, 'its issuer offers no sign-in by a code', 'Leave --device out.');
    const { configuration, client } = await register(issuer, options, NO_REDIRECT);
    const asked = { resource, ...(scope !== undefined && { scope }) };
    const begun = await library.initiateDeviceAuthorization(configuration, asked);
    const { user_code: code, verification_uri: url } = devicePage.parse(begun);
    show({ url, code, issuer: issuer.metadata.issuer });
    const interval = Math.max(SHORTEST_INTERVAL_SECONDS, begun.interval ?? 5);
    const poll = library.pollDeviceAuthorizationGrant;
    const tokens = await poll(configuration, { ...begun, interval }, { resource }, { signal });
    return kept(issuer, tokens, { ...client, url: options.url });
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
    throw ENDED.has(codeIn(error)) ? notSignedIn(options) : typed(options, error);
  }
}

/** Asks the issuer to end the tokens (RFC 7009). Rejects with the reason when one of them has not ended. */
export async function revoke(options: LoginOptions, kept: SignIn): Promise<void> {
  const { issuer, endpoint, revocation, refreshToken, accessToken, expiresAt } = kept;
  if (revocation === undefined) throw notEnded('Its issuer offers no way to end them.');
  const metadata = { issuer, token_endpoint: endpoint, revocation_endpoint: revocation };
  const { tokenRevocation } = await oauthLibrary();
  const configuration = await configure(metadata, kept, options);
  const end = (token: string) => tokenRevocation(configuration, token).then(() => undefined, refusalOf);
  const [refresh, access] = await Promise.all([
    refreshToken === undefined ? undefined : end(refreshToken),
    end(accessToken),
  ]);
  if (refresh !== undefined) throw notEnded(refresh);
  if (access === undefined) return;
  throw notEnded(`The access token works until ${new Date(expiresAt).toISOString()}. ${access}`);
}

/** Says why the issuer has not ended a token. Quotes no text of its response. */
function refusalOf(error: unknown): string {
  const own = causesOf(error).find((cause) => isLangoError(cause));
  if (own) return own.message;
  const code = codeIn(error);
  if (code !== undefined) return `Its issuer refused: ${code}.`;
  const { cause } = error as { readonly cause?: unknown };
  return cause instanceof Response
    ? `Its issuer responded with ${cause.status}.`
    : 'The response of its issuer is wrong.';
}

const notEnded = (why: string): LangoError => new LangoError('unavailable', why);

/** The error of a sign-in that has ended, or was never made. */
export function notSignedIn({ name }: Pick<LoginOptions, 'name'>): LangoError {
  const problem = `Nobody is signed in at the MCP server ${name}, or no longer.`;
  return new LangoError('unauthenticated', problem, { hint: `Run: lango mcp login ${name}` });
}

type Client = Pick<SignIn, 'clientId' | 'clientSecret' | 'authMethod'>;

/** Takes the configured client, or registers one (RFC 7591). */
async function register(issuer: Issuer, options: LoginOptions, redirectUrl: string) {
  const { metadata, scope } = issuer;
  const { clientId, clientSecret, fetch } = options;
  const { registerClient, selectClientAuthMethod } = await mcpLibrary();
  if (clientId === undefined && metadata.registration_endpoint === undefined) {
    const hint = `Register Lango at ${metadata.issuer}, and set mcp.servers.${options.name}.login.clientId.`;
    throw unusable(options, 'its issuer registers no clients by itself', hint);
  }
  const clientMetadata = {
    ...{ client_name: 'Lango', application_type: 'native', redirect_uris: [redirectUrl] },
    grant_types: ['authorization_code', 'refresh_token', DEVICE_GRANT],
    ...{ response_types: ['code'], token_endpoint_auth_method: 'none' },
  };
  const request = { metadata, clientMetadata, ...(scope !== undefined && { scope }), fetchFn: fetch };
  const information =
    clientId === undefined
      ? await registerClient(metadata.issuer, request)
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
  { fetch: send, url, issuer, tokenUrl }: LoginOptions,
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

function kept({ metadata, resource }: Issuer, tokens: Tokens, client: Client & Pick<SignIn, 'url'>): SignIn {
  const { issuer, token_endpoint: endpoint } = metadata;
  const named = endpointIn(metadata, 'revocation_endpoint');
  // Tokens go nowhere but to the issuer and its token endpoint.
  const isOwn = [issuer, endpoint].some((own) => new URL(own).origin === URL.parse(named ?? '')?.origin);
  const revocation = isOwn ? named : undefined;
  return signIn.parse({ ...client, resource, issuer, endpoint, revocation, ...tokensOf(tokens) });
}

function tokensOf({ access_token, refresh_token, expires_in = DEFAULT_SECONDS }: Tokens) {
  const seconds = Math.min(Math.max(expires_in, 1), LONGEST_SECONDS);
  return {
    accessToken: access_token,
    ...(refresh_token === undefined ? {} : { refreshToken: refresh_token }),
    expiresAt: Date.now() + seconds * 1_000,
  };
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

/** Errors quote no text of a response, which may repeat what was sent. */
function typed(options: Pick<LoginOptions, 'name'>, error: unknown): Error {
  const own = causesOf(error).find((cause) => isLangoError(cause));
  if (own) return own;
  const code = codeIn(error);
  if (code !== undefined) {
    const hint = `Try again: lango mcp login ${options.name}`;
    const problem = `The issuer of ${options.name} signed nobody in: ${code}.`;
    return new LangoError('unauthenticated', problem, { hint });
  }
  const { name } = error as { readonly name?: unknown };
  const why = typeof name === 'string' && /^[A-Za-z]{1,60}$/.test(name) ? name : 'Error';
  const failure = `The sign-in at the MCP server ${options.name} failed (${why})`;
  const problem = `${failure}: the responses of its issuer are wrong.`;
  return new LangoError('unavailable', problem, { cause: error });
}
