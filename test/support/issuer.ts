import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CryptoKey, JWK } from 'jose';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';

/** An identity provider on loopback: it signs tokens and publishes its keys. */
export interface Issuer {
  readonly url: string;
  readonly requests: () => number;
  /** Signs with another key from now on; `isPublished` false keeps it to itself. */
  rotate(isPublished?: boolean): Promise<void>;
  /** Its addresses answer with 503 as long as it is down. */
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
  const server = createServer((request, response) => {
    requests += 1;
    if (issuer.isDown) response.writeHead(503).end();
    else if (request.url === '/keys') response.end(JSON.stringify({ keys: published }));
    else response.end(JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/keys` }));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  issuer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await issuer.rotate();
  return issuer;
}
