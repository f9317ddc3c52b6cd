import { z } from 'zod';
import { isPrivateTransport } from './addresses.js';
import { finding, type Finding, type Path } from './findings.js';
import { choice, httpUrl, list, optional, path, secret, text } from './fields.js';

/** A client at an OAuth2 issuer, by which this server gets access tokens. */
export const oauth2 = z
  .strictObject({
    issuer: optional(
      httpUrl(),
      'The issuer. Its metadata names the token endpoint, which must be at its own origin. Default: none.',
    ),
    tokenUrl: optional(httpUrl(), 'The token endpoint. Default: the one that the issuer names.'),
    clientId: text().describe('The id of this server at the issuer.'),
    clientSecret: secret('The secret of the client. Default: none.'),
    secretIn: choice(
      ['header', 'body'],
      'header',
      'Where the secret is sent: `header` (client_secret_basic) or `body` (client_secret_post).',
    ),
    privateKeyFile: optional(
      path(),
      'A private key, PEM or JWK. The client signs an assertion with it (private_key_jwt) in place of a secret. Default: none.',
    ),
    keyId: optional(text(), 'The id of that key at the issuer. Default: that of the JWK.'),
    scopes: list(z.array(text()), 'The scopes to ask for. Without any, the issuer decides.'),
    audience: optional(text(), 'The parameter `audience`, for issuers that want one. Default: none.'),
    resource: optional(httpUrl(), 'The parameter `resource` (RFC 8707). Default: none.'),
  })
  .refine(({ issuer, tokenUrl }) => (issuer ?? tokenUrl) !== undefined, 'must have issuer or tokenUrl')
  .refine(
    ({ clientSecret, privateKeyFile }) => (clientSecret === undefined) !== (privateKeyFile === undefined),
    'must have one of clientSecret and privateKeyFile',
  );

export type OAuth2Client = z.output<typeof oauth2>;

/** Finds the addresses of a client that are not https: its secret is sent there. */
export function unsafeIssuer(client: OAuth2Client, at: Path): readonly Finding[] {
  return (['issuer', 'tokenUrl'] as const).flatMap((key) => {
    const address = client[key];
    if (address === undefined || isPrivateTransport(address)) return [];
    return finding([...at, key], 'must be https: the secret of the client is sent there');
  });
}
