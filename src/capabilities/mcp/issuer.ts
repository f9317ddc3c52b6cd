import type { AuthorizationServerMetadata as Metadata } from '@modelcontextprotocol/client';
import { causesOf, isLangoError, LangoError } from '../../core/errors.js';
import { oneLine, shorten } from '../../core/text.js';
import type { ServerSettings } from './settings.js';

/** The way in which a person signs in at one server. */
export interface LoginOptions extends NonNullable<ServerSettings['login']> {
  readonly name: string;
  readonly url: string;
  /** Scopes to ask for in addition. Default: none. */
  readonly furtherScopes?: readonly string[];
  /** The egress client. */
  readonly fetch: typeof fetch;
}

/** The issuer that was found, with the scope and the resource to ask for. */
export interface Issuer {
  readonly metadata: Metadata;
  readonly scope: string | undefined;
  readonly resource: string;
}

const LONGEST_TEXT = 300;

export const mcpLibrary = () => import('@modelcontextprotocol/client');

/** Finds the issuer of the server's tokens (RFC 9728) and its metadata (RFC 8414). */
export async function findIssuer(options: LoginOptions): Promise<Issuer> {
  const { name, url, issuer: wanted, fetch } = options;
  const library = await mcpLibrary();
  const { resourceMetadataUrl, scope: asked } = await challengeOf(options);
  if (resourceMetadataUrl && resourceMetadataUrl.origin !== new URL(url).origin)
    throw mismatch(`The MCP server ${name} says that its metadata is at ${resourceMetadataUrl.origin}`);
  const discover = library.discoverOAuthProtectedResourceMetadata;
  const described = await discover(url, { resourceMetadataUrl }, fetch as never).catch((error: unknown) => {
    const own = causesOf(error).find((cause) => isLangoError(cause));
    if (own) throw own;
    return undefined;
  });
  const resource = described?.resource ?? url;
  if (!library.checkResourceAllowed({ requestedResource: url, configuredResource: resource }))
    throw mismatch(`The metadata of the MCP server ${name} is that of ${resource}`);
  const named: readonly string[] = described?.authorization_servers ?? [];
  const isWanted = (one: string) => wanted === undefined || URL.parse(one)?.href === URL.parse(wanted)?.href;
  if (named.length > 0 && !named.some(isWanted))
    throw mismatch(`The MCP server ${name} names the issuer ${named[0]}, and not ${wanted}`);
  const issuer = wanted ?? named[0] ?? new URL('/', url).href;
  const isKnown = wanted !== undefined || URL.parse(issuer)?.origin === new URL(url).origin;
  if (!isKnown && !issuer.startsWith('https:')) {
    const hint = `Nobody was signed in. If it is the right issuer, set mcp.servers.${name}.login.issuer to it.`;
    throw mismatch(`The MCP server ${name} names the issuer ${issuer}, which has no https`, hint);
  }
  const metadata = await library.discoverAuthorizationServerMetadata(issuer, { fetchFn: fetch });
  if (!metadata) throw unusable(options, `its issuer ${issuer} has no metadata`);
  if (options.tokenUrl !== undefined) metadata.token_endpoint = options.tokenUrl;
  if (options.authorizationUrl !== undefined) metadata.authorization_endpoint = options.authorizationUrl;
  assertOwnEndpoints(metadata, issuer, options);
  const wantedScopes = options.scopes.join(' ') || asked || described?.scopes_supported?.join(' ') || '';
  // Without `offline_access`, many issuers give no refresh token.
  const offline = (metadata.scopes_supported ?? []).filter((scope) => scope === 'offline_access');
  const scopes = new Set(
    [...wantedScopes.split(' '), ...(options.furtherScopes ?? []), ...offline].filter(Boolean),
  );
  return { metadata, resource, scope: [...scopes].join(' ') || undefined };
}

/** Reads the challenge with which the server refuses a request without a token. */
async function challengeOf({ url, fetch: send }: LoginOptions) {
  const { extractWWWAuthenticateParams } = await mcpLibrary();
  const response = await send(url, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  });
  await response.body?.cancel().catch(() => undefined);
  return extractWWWAuthenticateParams(response);
}

/**
 * Metadata must not send codes, secrets or tokens to another server than the issuer. Nor may it send the person to the page of
 * another issuer: the code of that issuer would come back here, and go to this one's token endpoint (RFC 9700 section 4.4).
 */
function assertOwnEndpoints(metadata: Metadata, issuer: string, options: LoginOptions): void {
  const { token_endpoint, registration_endpoint, authorization_endpoint } = metadata;
  const { tokenUrl, authorizationUrl } = options;
  const named = {
    ...(authorizationUrl === undefined && { authorization_endpoint }),
    ...(tokenUrl === undefined && { token_endpoint }),
    registration_endpoint,
    device_authorization_endpoint: endpointIn(metadata, 'device_authorization_endpoint'),
  };
  const origin = new URL(issuer).origin;
  for (const [member, endpoint] of Object.entries(named)) {
    const other = endpoint === undefined ? origin : URL.parse(endpoint)?.origin;
    if (other !== origin)
      throw mismatch(`The issuer ${issuer} names the ${member} at ${other ?? 'no address'}`, ENDPOINT_HINT);
  }
}

const ENDPOINT_HINT =
  'Nobody was signed in. If it is right, set login.tokenUrl or login.authorizationUrl; else ask who runs that issuer.';

/** Returns an endpoint that only some kinds of metadata have by their types. */
export function endpointIn(
  metadata: Metadata,
  name: 'device_authorization_endpoint' | 'revocation_endpoint',
): string | undefined {
  const endpoint = (metadata as Readonly<Record<string, unknown>>)[name];
  return typeof endpoint === 'string' ? endpoint : undefined;
}

/** Scopes that a person can copy into a command. */
const PLAIN_SCOPES = /^[\w:./~-]{1,100}( [\w:./~-]{1,100}){0,9}$/;

/** Rejects when a server refuses with 403 because it wants further scopes (RFC 6750), with the command that asks for them. */
export async function assertScope(response: Response, { name }: Pick<LoginOptions, 'name'>): Promise<void> {
  const { extractWWWAuthenticateParams } = await mcpLibrary();
  const { error, scope = '' } = extractWWWAuthenticateParams(response);
  if (error !== 'insufficient_scope' || !PLAIN_SCOPES.test(scope)) return;
  await response.body?.cancel().catch(() => undefined);
  const hint = `Run: lango mcp login ${name} --scope "${scope}"`;
  throw new LangoError('forbidden', `The MCP server ${name} wants the scope ${scope}.`, { hint });
}

function mismatch(what: string, hint = 'Nobody was signed in. Ask who runs that server.'): LangoError {
  const text = `${shorten(oneLine(what), LONGEST_TEXT)}: nothing was sent there.`;
  return new LangoError('forbidden', text, { hint });
}

export function unusable({ name }: LoginOptions, why: string, hint?: string): LangoError {
  const text = `Nobody can sign in at the MCP server ${name}: ${shorten(oneLine(why), LONGEST_TEXT)}.`;
  return new LangoError('unavailable', text, { hint });
}
