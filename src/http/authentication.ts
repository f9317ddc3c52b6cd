import { serverUrl } from '../core/card.js';
import { findingOfError, type Finding } from '../core/findings.js';
import type { CreateFetch } from '../core/http.js';
import type { Authenticator } from '../core/identity.js';
import type { JsonObject } from '../core/json.js';
import { createAuthenticator, isOperator } from './identity.js';
import type { AuthenticatorOptions, OperatorSettings } from './identity.js';
import type { IntrospectionOptions } from './introspection.js';
import type { JwtRules } from './jwt-identity.js';
import { JwtKeys, keysFromFile, keysFromIssuer, keysFromUrl, type JwtKeysOptions } from './jwt-keys.js';
import type { TrustedNode, TrustedNodes } from './node-assertion.js';
import type { CertificateName } from './verifiers.js';

/** The settings of the authentication of callers, as the configuration has them. */
interface AuthSettings extends OperatorSettings {
  readonly jwt: OperatorSettings['jwt'] &
    Omit<JwtRules, 'issuer'> &
    Pick<JwtKeysOptions, 'refreshSeconds' | 'cooldownSeconds'> &
    Partial<Record<'issuer' | 'jwksUrl' | 'jwksFile', string>>;
  readonly introspection: Pick<IntrospectionOptions, 'cacheSeconds' | 'always'> &
    Partial<Pick<IntrospectionOptions, 'url' | 'clientId'>>;
  readonly mtls: { readonly owner: CertificateName };
  readonly nodes: readonly (Omit<TrustedNode, 'keys'> & Partial<Record<'jwks' | 'keys', string>>)[];
  readonly audience?: string | undefined;
}

interface AuthParts extends Pick<AuthenticatorOptions, 'token' | 'rates' | 'audit' | 'logger'> {
  /** The address of this server on its cards. */
  readonly baseUrl: string | undefined;
  readonly introspectionSecret: string | undefined;
  readonly createFetch: CreateFetch;
  /** Gets the metadata of the issuer each time they are read. */
  readonly onIssuer: (facts: JsonObject) => void;
  readonly rightFor: TrustedNodes['rightFor'];
}

const KEYS_TIMEOUT_MS = 5_000;
const KEYS_BYTES = 256 * 1024;

/** Authenticates callers as the settings say. In mode `jwt` it loads the issuer's keys at once and logs their problems. */
export function openAuthenticator(auth: AuthSettings, parts: AuthParts): Authenticator {
  const { token, rates, audit, logger } = parts;
  return createAuthenticator({
    ...{ mode: auth.mode, token, rates, audit, logger },
    certificateName: auth.mtls.owner,
    isOperator: (caller) => isOperator(auth, caller),
    jwt: auth.mode === 'jwt' ? openIssuer(auth, parts) : undefined,
    nodes: auth.nodes.length > 0 ? trustedNodes(auth, parts) : undefined,
  });
}

/** Finds faults of the file with the issuer's keys. */
export async function keyFileFindings({ mode, jwt }: AuthSettings): Promise<readonly Finding[]> {
  if (mode !== 'jwt' || jwt.jwksFile === undefined) return [];
  return findingOfError(keysFromFile(jwt.jwksFile)(), () => ['auth', 'jwt', 'jwksFile']);
}

function openIssuer({ jwt, introspection }: AuthSettings, parts: AuthParts): AuthenticatorOptions['jwt'] {
  const { refreshSeconds, cooldownSeconds, issuer = '', jwksUrl, jwksFile, ...rules } = jwt;
  const ofAddress = () => {
    const get = keyFetch(parts, jwksUrl ?? issuer);
    return jwksUrl === undefined ? keysFromIssuer(issuer, get, parts.onIssuer) : keysFromUrl(jwksUrl, get);
  };
  const load = jwksFile === undefined ? ofAddress() : keysFromFile(jwksFile);
  const keys = new JwtKeys({ load, refreshSeconds, cooldownSeconds, logger: parts.logger });
  void keys.renew();
  return { rules: { ...rules, issuer }, keys, introspection: introspectionOf(introspection, parts) };
}

function introspectionOf(
  { url, clientId = '', cacheSeconds, always }: AuthSettings['introspection'],
  parts: AuthParts,
): IntrospectionOptions | undefined {
  if (url === undefined) return undefined;
  const clientSecret = parts.introspectionSecret ?? '';
  return { url, clientId, clientSecret, cacheSeconds, always, fetch: keyFetch(parts, url) };
}

function keyFetch({ createFetch }: AuthParts, configuredUrl: string): typeof fetch {
  return createFetch({ configuredUrl, timeoutMs: KEYS_TIMEOUT_MS, maxBytes: KEYS_BYTES });
}

function trustedNodes(auth: AuthSettings, parts: AuthParts): TrustedNodes {
  const { refreshSeconds, cooldownSeconds } = auth.jwt;
  const nodes = auth.nodes.map(({ name, jwks, keys: file = '', may }) => {
    const load = jwks === undefined ? keysFromFile(file) : keysFromUrl(jwks, keyFetch(parts, jwks));
    const logger = parts.logger.child({ node: name });
    return { name, may, keys: new JwtKeys({ load, refreshSeconds, cooldownSeconds, logger }) };
  });
  const audience = auth.audience ?? serverUrl(parts.baseUrl ?? '', '/').href;
  return { nodes, audience, rightFor: parts.rightFor };
}
