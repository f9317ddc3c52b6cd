import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { CryptoKey, JWK } from 'jose';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';

/** An identity provider on loopback: it signs tokens and publishes its keys. */
export interface Issuer {
  readonly url: string;
  readonly requests: () => number;
  /** Signs with another key from now on; with `isPublished` false the key is not published. */
  rotate(isPublished?: boolean): Promise<void>;
  /** While true, the addresses of the issuer respond with 503. */
  isDown: boolean;
  token(claims: Readonly<Record<string, unknown>>, changes?: TokenChanges): Promise<string>;
  close(): Promise<void>;
}

interface TokenChanges {
  readonly issuer?: string;
  readonly audience?: string;
  readonly expires?: string | number | null;
}

export const AUDIENCE = 'lango-test';

export async function startIssuer(): Promise<Issuer> {
  let requests = 0;
  let signing: { readonly kid: string; readonly key: CryptoKey } | undefined;
  const published: JWK[] = [];
  const issuer = {
    isDown: false,
    url: '',
    requests: () => requests,
    async rotate(isPublished = true) {
      const { privateKey, publicKey } = await generateKeyPair('ES256');
      const kid = `key-${published.length}-${isPublished}`;
      signing = { kid, key: privateKey };
      if (isPublished) published.push({ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' });
    },
    async token(claims: Readonly<Record<string, unknown>>, changes: TokenChanges = {}) {
      const { expires = '5m' } = changes;
      const jwt = new SignJWT({ ...claims })
        .setProtectedHeader({ alg: 'ES256', kid: signing!.kid })
        .setIssuer(changes.issuer ?? issuer.url)
        .setAudience(changes.audience ?? AUDIENCE);
      return (expires === null ? jwt : jwt.setExpirationTime(expires)).sign(signing!.key);
    },
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
  /** The PKCE challenges, by their codes. */
  const challenges = new Map<string, string>();
  const authorize = (url: string, response: ServerResponse) => {
    const query = new URL(url, issuer.url).searchParams;
    const back = new URL(query.get('redirect_uri')!);
    const code = `code-${challenges.size}`;
    challenges.set(code, query.get('code_challenge')!);
    back.search = new URLSearchParams({ code, state: query.get('state')! }).toString();
    response.writeHead(302, { location: back.href }).end();
  };
  const grant = async (body: string, response: ServerResponse) => {
    const query = new URLSearchParams(body);
    if (query.get('grant_type') === 'client_credentials') {
      const claims = { sub: 'a-client', scope: query.get('scope') ?? '' };
      const token = { access_token: await issuer.token(claims), token_type: 'bearer', expires_in: 300 };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(token));
      return;
    }
    const proof = createHash('sha256')
      .update(query.get('code_verifier') ?? '')
      .digest('base64url');
    const isProven = challenges.get(query.get('code')!) === proof;
    challenges.delete(query.get('code')!);
    response.setHeader('content-type', 'application/json');
    if (!isProven) response.writeHead(400).end('{"error":"invalid_grant"}');
    else
      response.end(
        JSON.stringify({
          access_token: await issuer.token({ sub: 'ada' }),
          token_type: 'bearer',
          expires_in: 300,
        }),
      );
  };
  const server = createServer((request, response) => {
    requests += 1;
    if (issuer.isDown) response.writeHead(503).end();
    else if (request.url?.startsWith('/authorize')) authorize(request.url, response);
    else if (request.url === '/token') void text(request).then((body) => grant(body, response));
    else if (request.url === '/keys') response.end(JSON.stringify({ keys: published }));
    else
      response.end(
        JSON.stringify({
          issuer: issuer.url,
          jwks_uri: `${issuer.url}/keys`,
          authorization_endpoint: `${issuer.url}/authorize`,
          token_endpoint: `${issuer.url}/token`,
          device_authorization_endpoint: `${issuer.url}/device`,
          code_challenge_methods_supported: ['S256'],
          grant_types_supported: [
            ...['authorization_code', 'client_credentials'],
            'urn:ietf:params:oauth:grant-type:device_code',
          ],
        }),
      );
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  issuer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await issuer.rotate();
  return issuer;
}
