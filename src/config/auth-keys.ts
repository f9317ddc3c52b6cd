import { z } from 'zod';
import { SIGNATURE_ALGORITHMS } from '../core/card.js';
import { agentName, httpUrl, path, refuseDuplicates, seconds, secret, text } from './fields.js';

const MAX_SKEW_SECONDS = 300;

const scopeRule = z.strictObject({
  agent: agentName().describe('The agent that the scope is for.'),
  skill: text()
    .optional()
    .describe(
      'A skill of that agent, by its id on the card. Its tools then run only for callers with the scope. Default: the whole agent.',
    ),
  scope: z
    .string()
    .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope: printable ASCII without spaces and quotes')
    .describe('The scope that a token must have.'),
});

const jwt = z
  .strictObject({
    issuer: httpUrl()
      .optional()
      .describe(
        'The issuer of the tokens, exactly as in the claim `iss`. Default: none; mode `jwt` needs one.',
      ),
    audience: z
      .array(text())
      .default([])
      .describe(
        'The accepted audiences: the claim `aud` of a token must name one of them. Mode `jwt` needs one.',
      ),
    jwksUrl: httpUrl()
      .optional()
      .describe('The URL of the public keys of the issuer. Default: the one in its OpenID configuration.'),
    jwksFile: path()
      .optional()
      .describe('A file with the public keys (a JWK set), instead of a URL. Default: none.'),
    algorithms: z
      .array(z.enum(SIGNATURE_ALGORITHMS))
      .min(1)
      .default(['RS256', 'PS256', 'ES256', 'EdDSA'])
      .describe('The accepted signature algorithms.'),
    clockSkewSeconds: z
      .number()
      .min(0)
      .max(MAX_SKEW_SECONDS)
      .default(30)
      .describe('The largest accepted difference between the clocks of issuer and server.'),
    requiredClaims: z
      .array(text())
      .default([])
      .describe('Claims that a token must have, besides `exp`, `iss`, `aud` and the owner.'),
    ownerClaim: text().default('sub').describe('The claim that names the owner of the tasks.'),
    tenantClaim: text()
      .optional()
      .describe('The claim that names the tenant of the owner. Default: none; all owners are of one tenant.'),
    scopeClaim: text().default('scope').describe('The claim with the scopes, as a string or a list.'),
    scopes: z
      .array(scopeRule)
      .superRefine(refuseDuplicates(({ agent, skill = '' }) => `${agent} ${skill}`, ['agent']))
      .default([])
      .describe(
        'Scopes that agents, or single skills of them, require. Agents that are not listed require none.',
      ),
    refreshSeconds: seconds().default(600).describe('The age at which the keys are fetched again.'),
    cooldownSeconds: seconds()
      .default(30)
      .describe('The shortest time between two fetches of the keys, also when tokens name unknown keys.'),
  })
  .prefault({})
  .describe('Signed tokens, for mode `jwt`.');

const mtls = z
  .strictObject({
    owner: z
      .enum(['cn', 'dns', 'email', 'uri'])
      .default('cn')
      .describe(
        'The name in the certificate that is the owner of the tasks: the common name (`cn`), or a subject alternative name.',
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
        '`token`: every request carries the bearer token. `jwt`: every request carries a signed token of an issuer. `mtls`: every client has a certificate. `none`: no authentication; loopback addresses only.',
      ),
    token: secret(
      'The bearer token. Default: `LANGO_TOKEN`, or a random one, created at first start in `${LANGO_HOME}/token`.',
    ),
    jwt,
    mtls,
  })
  .prefault({})
  .describe('Authentication of callers.');
