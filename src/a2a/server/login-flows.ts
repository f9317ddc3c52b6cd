import type { JsonObject } from '../../core/json.js';

/** A flow of OAuth 2.0 by which a client gets a token of the issuer, without its scopes. */
export interface LoginFlow {
  readonly name: 'authorizationCode' | 'clientCredentials' | 'deviceCode';
  readonly members: JsonObject;
}

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** The grants of an issuer whose metadata has no list (OpenID Connect Discovery 1.0 section 3, RFC 8414). */
const DEFAULT_GRANTS = ['authorization_code'];

/** Reads from the metadata of an issuer the flows that it offers; it leaves out flows without a safe address. */
export function flowsIn(facts: JsonObject): readonly LoginFlow[] {
  const grants = Array.isArray(facts['grant_types_supported'])
    ? facts['grant_types_supported']
    : DEFAULT_GRANTS;
  const methods = facts['code_challenge_methods_supported'];
  const address = (name: string): string | undefined => safeUrl(facts[name], facts['issuer']);
  const tokenUrl = address('token_endpoint');
  if (tokenUrl === undefined) return [];
  const authorizationUrl = address('authorization_endpoint');
  const deviceAuthorizationUrl = address('device_authorization_endpoint');
  const pkceRequired = Array.isArray(methods) && methods.includes('S256');
  const flows: LoginFlow[] = [];
  if (grants.includes('authorization_code') && authorizationUrl !== undefined)
    flows.push({ name: 'authorizationCode', members: { authorizationUrl, tokenUrl, pkceRequired } });
  if (grants.includes('client_credentials')) flows.push({ name: 'clientCredentials', members: { tokenUrl } });
  if (grants.includes(DEVICE_GRANT) && deviceAuthorizationUrl !== undefined)
    flows.push({ name: 'deviceCode', members: { deviceAuthorizationUrl, tokenUrl } });
  return flows;
}

/** An address with TLS, or at the issuer's own origin: an issuer on this machine has none. */
function safeUrl(value: unknown, issuer: unknown): string | undefined {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  const isSafe = url && (url.protocol === 'https:' || url.origin === new URL(String(issuer)).origin);
  return isSafe ? url.href : undefined;
}
