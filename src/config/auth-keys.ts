import { z } from 'zod';
import { SIGNATURE_ALGORITHMS } from '../core/card.js';
import { agentName, count, httpUrl, path, refuseDuplicates, seconds, secret, text } from './fields.js';

const MAX_SKEW_SECONDS = 300;

const scopeRule = z.strictObject({
  agent: agentName().describe('The agent that the scope is for.'),
  skill: text()
    .optional()
    .describe(
      'A skill of that agent, by its id on the card: its tools then run only for callers with the scope. Default: the whole agent.',
    ),
  scope: z
    .string()
    .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope: printable ASCII without spaces and quotes')
    .describe('What the token must allow.'),
});

const jwt = z
  .strictObject({
    issuer: httpUrl()
      .optional()
      .describe(
        'Who signs the tokens, exactly as the claim `iss` says it. Default: none; mode `jwt` needs one.',
      ),
    audience: z
      .array(text())
      .default([])
      .describe(
        'Whom a token must be meant for: one of these stands in its claim `aud`. Mode `jwt` needs one.',
      ),
    jwksUrl: httpUrl()
      .optional()
      .describe('Where the public keys of the issuer are. Default: where its OpenID configuration says.'),
    jwksFile: path()
      .optional()
      .describe('A file with the public keys (a JWK set), in the place of an address. Default: none.'),
    algorithms: z
      .array(z.enum(SIGNATURE_ALGORITHMS))
      .min(1)
      .default(['RS256', 'PS256', 'ES256', 'EdDSA'])
      .describe('Signatures that are accepted.'),
    clockSkewSeconds: z
      .number()
      .min(0)
      .max(MAX_SKEW_SECONDS)
      .default(30)
      .describe('How far the clocks of issuer and server may differ.'),
    requiredClaims: z
      .array(text())
      .default([])
      .describe('Claims that must be there, besides `exp`, `iss`, `aud` and the owner.'),
    ownerClaim: text().default('sub').describe('The claim that says whose the tasks are.'),
    tenantClaim: text()
      .optional()
      .describe('The claim that says which tenant the owner belongs to. Default: none, all are of one.'),
    scopeClaim: text().default('scope').describe('The claim with the scopes, as a text or a list.'),
    scopes: z
      .array(scopeRule)
      .superRefine(refuseDuplicates(({ agent, skill = '' }) => `${agent} ${skill}`, ['agent']))
      .default([])
      .describe('Scopes that agents, or single skills of them, ask for. What is not named asks for none.'),
    refreshSeconds: seconds().default(600).describe('Age at which the keys are read again.'),
    cooldownSeconds: seconds()
      .default(30)
      .describe('Least time between two readings of the keys, also when tokens name unknown ones.'),
  })
  .prefault({})
  .describe('Tokens of an issuer, for mode `jwt`.');

const mtls = z
  .strictObject({
    owner: z
      .enum(['cn', 'dns', 'email', 'uri'])
      .default('cn')
      .describe(
        'The name in the certificate that says whose the tasks are: the common name, or the alternative name of a kind.',
      ),
  })
  .prefault({})
  .describe('Client certificates, for mode `mtls`.');

export const auth = z
  .strictObject({
    mode: z
      .enum(['token', 'jwt', 'mtls', 'none'])
      .default('token')
      .describe(
        '`token`: every request carries the bearer token. `jwt`: a signed token of an issuer. `mtls`: a client certificate. `none`: no check; loopback addresses only.',
      ),
    token: secret(
      'The bearer token. Default: `LANGO_TOKEN`, else one made at first start and kept in `${LANGO_HOME}/token`.',
    ),
    jwt,
    mtls,
  })
  .prefault({})
  .describe('Who may call.');

export const tls = z
  .strictObject({
    certFile: path()
      .optional()
      .describe(
        'The certificate of the server with its chain, PEM. Default: none, the server speaks plain HTTP.',
      ),
    keyFile: path().optional().describe('The private key of the certificate, PEM. Default: none.'),
    clientCaFile: path()
      .optional()
      .describe(
        'The authorities whose client certificates are trusted, PEM. Default: none, no client is asked for one.',
      ),
    crlFile: path()
      .optional()
      .describe('Certificates that those authorities took back (a revocation list), PEM. Default: none.'),
    minVersion: z
      .enum(['TLSv1.2', 'TLSv1.3'])
      .default('TLSv1.2')
      .describe('The oldest version of TLS that is spoken.'),
  })
  .prefault({})
  .describe('TLS. SIGHUP reads the files again.');

/** How often callers may ask; part of `server.limits`. */
export const rateKeys = {
  requestsPerSecond: count()
    .default(5_000)
    .describe('Requests of one caller, for long. More are answered with 429 and the time to wait.'),
  requestBurst: count().default(10_000).describe('Requests of one caller at once, after a pause.'),
  anonymousPerSecond: count()
    .default(200)
    .describe('Requests from one address that nobody needs to be known for: cards, health, unknown paths.'),
  anonymousBurst: count().default(1_000).describe('The same at once, after a pause.'),
};
