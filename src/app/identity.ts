import { createAccess } from '../a2a/server/access.js';
import { skillIdOf } from '../agents/capabilities.js';
import type { Authenticator } from '../core/identity.js';
import { openAuthenticator } from '../http/authentication.js';
import type { TrustedNodes } from '../http/node-assertion.js';
import { egressOf, type Parts } from './node.js';

type IdentityParts = Parts<'config' | 'settings' | 'secrets' | 'access' | 'token' | 'audit' | 'logger'>;

/** Authenticates callers as `auth` says. */
export function createIdentity(node: IdentityParts, rightFor: TrustedNodes['rightFor']): Authenticator {
  const { config, secrets, access, token, audit, logger } = node;
  const { limits } = config.server;
  return openAuthenticator(config.auth, {
    ...{ token, audit, logger, rightFor, baseUrl: config.a2a.baseUrl, onIssuer: access.learn },
    rates: {
      caller: { perSecond: limits.requestsPerSecond, burst: limits.requestBurst },
      address: { perSecond: limits.anonymousPerSecond, burst: limits.anonymousBurst },
    },
    introspectionSecret: secrets.introspectionSecret,
    createFetch: egressOf(node),
  });
}

/** The scopes that callers need. Throws `invalid-config` when a rule of `auth.jwt.scopes` names an unknown agent or skill. */
export function openAccess({ config, agents, tools }: Parts<'config' | 'agents' | 'tools'>) {
  const names = tools.map(({ name }) => name);
  return createAccess({ auth: config.auth, agents, tools: names, skillOf: skillIdOf });
}
