import type { Config } from '../config/config.js';
import type { Audit, Authenticator } from '../core/identity.js';
import type { Logger } from '../core/logger.js';
import { createEgress } from '../http/egress.js';
import { createAuthenticator } from '../http/identity.js';
import type { JwtRules } from '../http/jwt-identity.js';
import { JwtKeys, keysFromFile, keysFromIssuer, keysFromUrl } from '../http/jwt-keys.js';
import { allowedHosts } from './allowed-hosts.js';

export interface IdentityFacts {
  readonly config: Config;
  /** In mode `token`. */
  readonly token: string | undefined;
  readonly audit: Audit;
  readonly logger: Logger;
}

const KEYS_TIMEOUT_MS = 5_000;
const KEYS_BYTES = 256 * 1024;

/** Who may call, as the configuration says. In mode `jwt` the keys are read ahead; what is wrong with them stands in the log. */
export function createIdentity({ config, token, audit, logger }: IdentityFacts): Authenticator {
  const { auth, server } = config;
  const { limits } = server;
  return createAuthenticator({
    mode: auth.mode,
    certificateName: auth.mtls.owner,
    rates: {
      caller: { perSecond: limits.requestsPerSecond, burst: limits.requestBurst },
      address: { perSecond: limits.anonymousPerSecond, burst: limits.anonymousBurst },
    },
    audit,
    logger,
    ...(token === undefined ? {} : { token }),
    ...(auth.mode === 'jwt' ? { jwt: { rules: rulesOf(auth.jwt), keys: openKeys(config, logger) } } : {}),
  });
}

function rulesOf({ issuer = '', tenantClaim, ...jwt }: Config['auth']['jwt']): JwtRules {
  return { ...jwt, issuer, ...(tenantClaim === undefined ? {} : { tenantClaim }) };
}

function openKeys(config: Config, logger: Logger): JwtKeys {
  const { refreshSeconds, cooldownSeconds } = config.auth.jwt;
  const keys = new JwtKeys({ load: sourceOf(config, logger), refreshSeconds, cooldownSeconds, logger });
  void keys.prepare();
  return keys;
}

function sourceOf({ auth: { jwt }, egress }: Config, logger: Logger): () => Promise<unknown> {
  const { issuer = '', jwksUrl, jwksFile } = jwt;
  if (jwksFile !== undefined) return keysFromFile(jwksFile);
  const get = createEgress({
    // The operator wrote this address down.
    allowPrivate: allowedHosts(egress, jwksUrl ?? issuer),
    timeoutMs: KEYS_TIMEOUT_MS,
    maxBytes: KEYS_BYTES,
    logger,
  });
  return jwksUrl === undefined ? keysFromIssuer(issuer, get) : keysFromUrl(jwksUrl, get);
}
