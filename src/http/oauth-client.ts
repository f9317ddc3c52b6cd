import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ClientAuth, Configuration } from 'openid-client';
import type { AccessToken, OAuthClientOptions } from '../core/credential.js';
import { LangoError, codeOf, errorText, isLangoError, loadPackage } from '../core/errors.js';
import { defined } from '../core/json.js';

/** The lifetime of a token whose issuer names none. */
const DEFAULT_LIFETIME_SECONDS = 300;
const MAX_LIFETIME_SECONDS = 86_400;
const TOKEN_MAX_LENGTH = 16 * 1024;
const TOKEN_PATTERN = /^[\x21-\x7e]+$/;
/** The largest response of a token endpoint. */
const MAX_RESPONSE_BYTES = 64 * 1024;

const load = () => loadPackage('openid-client', () => import('openid-client'));

/**
 * Makes the function that asks for an access token by client credentials (RFC 6749 section 4.4). It sends the client's
 * secret to `tokenUrl`, else to a token endpoint at the issuer's own origin, and follows no redirect. Errors never
 * quote a response.
 */
export function createTokenRequest(options: OAuthClientOptions): () => Promise<AccessToken> {
  const endpoint = new URL(options.tokenUrl ?? options.issuer ?? '').host;
  return async () => {
    try {
      const { clientCredentialsGrant } = await load();
      const { scopes, audience, resource } = options;
      const request = new URLSearchParams(defined({ audience, resource }));
      if (scopes.length > 0) request.set('scope', scopes.join(' '));
      const granted = await clientCredentialsGrant(await openClient(options), request);
      return checkedToken(granted.access_token, granted.expires_in, endpoint);
    } catch (error) {
      throw isLangoError(error) ? error : noToken(error, endpoint);
    }
  };
}

/** Reads the metadata and the key for each token: tokens are requested rarely, and both may change. */
async function openClient(options: OAuthClientOptions): Promise<Configuration> {
  const { issuer, tokenUrl, clientId } = options;
  const client = await load();
  const auth = await clientAuth(options, client);
  if (tokenUrl !== undefined) {
    const server = { issuer: issuer ?? tokenUrl, token_endpoint: tokenUrl };
    const configuration = new client.Configuration(server, clientId, undefined, auth);
    configuration[client.customFetch] = fetchOf(options);
    if (tokenUrl.startsWith('http:')) client.allowInsecureRequests(configuration);
    return configuration;
  }
  const discover = (algorithm: 'oidc' | 'oauth2') =>
    client.discovery(new URL(issuer ?? ''), clientId, undefined, auth, {
      algorithm,
      [client.customFetch]: fetchOf(options),
      ...(issuer?.startsWith('http:') ? { execute: [client.allowInsecureRequests] } : {}),
    });
  // An issuer may have the metadata of OpenID Connect or only those of RFC 8414.
  const configuration = await discover('oidc').catch((error: unknown) => {
    const { cause } = error as { readonly cause?: unknown };
    if (cause instanceof Response && cause.status >= 400 && cause.status < 500) return discover('oauth2');
    throw error;
  });
  assertSameOrigin(configuration.serverMetadata().token_endpoint, issuer ?? '');
  return configuration;
}

/** Rejects a token endpoint on another origin, because metadata from outside must not redirect the client's secret. */
function assertSameOrigin(endpoint: string | undefined, issuer: string): void {
  const url = endpoint === undefined ? null : URL.parse(endpoint);
  if (url?.origin === new URL(issuer).origin) return;
  const named = url
    ? `the token endpoint ${url.origin}${url.pathname}, which is not on its origin`
    : 'no token endpoint';
  throw new LangoError('unavailable', `The issuer ${issuer} names ${named}.`, {
    hint: url ? 'If this endpoint is correct, set tokenUrl to it.' : 'Set tokenUrl to the token endpoint.',
  });
}

function fetchOf({ createFetch, tokenUrl, issuer, timeoutMs }: OAuthClientOptions) {
  const send = createFetch({ configuredUrl: tokenUrl ?? issuer, timeoutMs, maxBytes: MAX_RESPONSE_BYTES });
  return (url: string, init: unknown): Promise<Response> =>
    send(url, { ...(init as RequestInit), redirect: 'error' });
}

async function clientAuth(
  { clientSecret, secretIn, privateKeyFile, keyId }: OAuthClientOptions,
  client: Awaited<ReturnType<typeof load>>,
): Promise<ClientAuth> {
  if (privateKeyFile !== undefined) {
    const { key, kid } = await readKey(privateKeyFile);
    const id = keyId ?? kid;
    return client.PrivateKeyJwt({ key: toCryptoKey(key), ...(id !== undefined && { kid: id }) });
  }
  const secret = (await clientSecret?.()) ?? '';
  return secretIn === 'body' ? client.ClientSecretPost(secret) : basicAuth(secret);
}

/** HTTP Basic with form encoding (RFC 6749 section 2.3.1). Hyphens stay, because some issuers do not decode them. */
export function basicAuth(secret: string): ClientAuth {
  return (...[, { client_id }, , headers]) => {
    const pair = [client_id, secret].map((text) => new URLSearchParams([['', text]]).toString().slice(1));
    headers.set('authorization', `Basic ${Buffer.from(pair.join(':')).toString('base64')}`);
  };
}

async function readKey(
  file: string,
): Promise<{ readonly key: KeyObject; readonly kid?: string | undefined }> {
  try {
    const text = await readFile(file, 'utf8');
    if (!text.trimStart().startsWith('{')) return { key: createPrivateKey(text) };
    const jwk = JSON.parse(text) as { readonly kid?: string };
    return { key: createPrivateKey({ key: { ...jwk }, format: 'jwk' }), kid: jwk.kid };
  } catch (cause) {
    const why = codeOf(cause) === 'ENOENT' ? 'there is no such file' : 'the file holds no private key';
    throw badKey(why);
  }
}

/** By the type of a key, or the curve of an EC key. */
const ALGORITHMS: Readonly<Record<string, Parameters<KeyObject['toCryptoKey']>[0]>> = {
  rsa: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  prime256v1: { name: 'ECDSA', namedCurve: 'P-256' },
  secp384r1: { name: 'ECDSA', namedCurve: 'P-384' },
  secp521r1: { name: 'ECDSA', namedCurve: 'P-521' },
  ed25519: { name: 'Ed25519' },
};

/** The key for its usual algorithm: RS256, ES256 to ES512, or Ed25519. */
function toCryptoKey(key: KeyObject) {
  const { asymmetricKeyType: type = '', asymmetricKeyDetails: details } = key;
  const algorithm = ALGORITHMS[details?.namedCurve ?? type];
  if (algorithm) return key.toCryptoKey(algorithm, false, ['sign']);
  throw badKey('it is neither RSA, nor EC of a NIST curve, nor Ed25519');
}

function badKey(why: string): LangoError {
  return new LangoError('invalid-config', `The private key of the OAuth2 client cannot be used: ${why}.`, {
    hint: 'Correct auth.oauth2.privateKeyFile.',
  });
}

function checkedToken(token: string, expiresIn: number | undefined, endpoint: string): AccessToken {
  if (!TOKEN_PATTERN.test(token) || token.length > TOKEN_MAX_LENGTH)
    throw new LangoError('unavailable', `${endpoint} responded with a token that no header can carry.`);
  const seconds = expiresIn ?? DEFAULT_LIFETIME_SECONDS;
  const shown = { headers: { authorization: `Bearer ${token}` } };
  return { token, shown, seconds: Math.min(Math.max(seconds, 1), MAX_LIFETIME_SECONDS) };
}

/** The error codes of RFC 6749 section 5.2. Errors quote no other text of a response, which may repeat the request. */
const ERRORS: ReadonlySet<unknown> = new Set([
  ...['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type'],
  ...['invalid_scope', 'invalid_target'],
]);

function noToken(error: unknown, endpoint: string): LangoError {
  const { error: code, cause } = error as { readonly error?: unknown; readonly cause?: unknown };
  if (isLangoError(cause))
    return new LangoError('unavailable', `No token: ${errorText(cause)}`, { retryable: true });
  const why = ERRORS.has(code)
    ? `It refused the client (${String(code)}).`
    : 'Its response is not that of a token endpoint.';
  return new LangoError('unavailable', `${endpoint} gave no token. ${why}`, {
    hint: 'Check oauth2 in the entry of this server in the configuration.',
  });
}
