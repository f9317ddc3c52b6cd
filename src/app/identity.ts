import { type Finding, type Path } from '../core/findings.js';
import {
  KeptCredential,
  type CredentialKind,
  type LoadedValues,
  type PeerCredential,
} from '../core/credential.js';
import { flowsIn, type LoginFlow } from '../a2a/server/login-flows.js';
import { skillIdOf } from '../agents/capabilities.js';
import type { Config, OAuth2Config, RemoteAgentConfig } from '../config/config.js';
import type { LoadedConfig } from '../config/load.js';
import { findingOfError } from '../config/problems.js';
import type { RemoteSecrets } from '../config/secrets.js';
import { loadOrCreateToken, loadToken } from '../config/node-credentials.js';
import { isWeakToken } from '../config/risks.js';
import type { Agent } from '../core/agent.js';
import { BoundedCache } from '../core/bounded-cache.js';
import { errorText, LangoError } from '../core/errors.js';
import { serverUrl } from '../core/card.js';
import type { Authenticator } from '../core/identity.js';
import { referencedSecrets } from '../core/secrets.js';
import { createAuthenticator, ONLY_OWNER, type AuthenticatorOptions } from '../http/identity.js';
import type { IntrospectionOptions } from '../http/introspection.js';
import type { TrustedNodes } from '../http/node-assertion.js';
import { createTokenRequest } from '../http/oauth-client.js';
import { JwtKeys, keysFromFile, keysFromIssuer, keysFromUrl, discoveryUrl } from '../http/jwt-keys.js';
import { loadTls, type TlsMaterial } from '../http/tls.js';
import { egressOf, ownOwner, type Access, type Parts } from './node.js';

/**
 * Opens the credentials of this node, which its callers check or present. Rejects with `invalid-config` when a file is
 * wrong, and with `storage` when a new token cannot be kept.
 */
export async function openCredentials({
  config,
  secrets,
}: Parts<'config' | 'secrets'>): Promise<Parts<'tls' | 'token'>> {
  const token =
    config.auth.mode === 'token' ? (secrets.token ?? (await loadOrCreateToken(config.home))) : undefined;
  assertStrong(token, config);
  return { token, tls: await readTls(config) };
}

/** The token of the configuration was checked with it. The one in the data folder may have been written by hand. */
function assertStrong(token: string | undefined, { server }: Config): void {
  if (token === undefined || !isWeakToken(token) || server.allowRisks.includes('weakToken')) return;
  throw new LangoError('invalid-config', 'The token of the data folder can be guessed.', {
    hint: 'Delete its file, so that the next start makes a new one; or add weakToken to server.allowRisks.',
  });
}

/** Finds faults of the files that `openCredentials` reads, for `config check`. Makes none of them. */
export async function credentialFindings({ config, secrets }: LoadedConfig): Promise<readonly Finding[]> {
  const { mode, jwt } = config.auth;
  const tlsKey = (error: unknown): Path => {
    const named = Object.entries(config.server.tls).find(
      ([key, file]) => key.endsWith('File') && typeof file === 'string' && errorText(error).includes(file),
    );
    return ['server', 'tls', named?.[0] ?? 'certFile'];
  };
  const checks = [findingOfError(readTls(config), tlsKey)];
  if (mode === 'token' && secrets.token === undefined) {
    const loaded = loadToken(config.home).then((token) => assertStrong(token, config));
    checks.push(findingOfError(loaded, () => ['auth', 'token']));
  }
  if (mode === 'jwt' && jwt.jwksFile !== undefined)
    checks.push(findingOfError(keysFromFile(jwt.jwksFile)(), () => ['auth', 'jwt', 'jwksFile']));
  return (await Promise.all(checks)).flat();
}

/** Reads the certificate, the key and what belongs to them; undefined for plain HTTP. Rejects with `invalid-config`. */
export async function readTls({ server: { tls } }: Config): Promise<TlsMaterial | undefined> {
  const { certFile, keyFile, clientCaFile, crlFile, minVersion } = tls;
  if (certFile === undefined || keyFile === undefined) return undefined;
  return loadTls({ certFile, keyFile, minVersion, clientCaFile, crlFile });
}

type IdentityParts = Parts<'config' | 'secrets' | 'access' | 'token' | 'audit' | 'logger'>;

const KEYS_TIMEOUT_MS = 5_000;
const KEYS_BYTES = 256 * 1024;

/** Authenticates callers as `auth` says. In mode `jwt` it loads the issuer's keys at once and logs their problems. */
export function createIdentity(parts: IdentityParts, rightFor: TrustedNodes['rightFor']): Authenticator {
  const { config, token, audit, logger } = parts;
  const { auth, server } = config;
  const { limits } = server;
  return createAuthenticator({
    ...{ mode: auth.mode, token, audit, logger },
    certificateName: auth.mtls.owner,
    rates: {
      caller: { perSecond: limits.requestsPerSecond, burst: limits.requestBurst },
      address: { perSecond: limits.anonymousPerSecond, burst: limits.anonymousBurst },
    },
    isOperator: ({ owner, scopes }) => isOperator(auth, owner, scopes),
    jwt: auth.mode === 'jwt' ? openIssuer(parts) : undefined,
    nodes: auth.nodes.length > 0 ? { ...trustedNodes(parts), rightFor } : undefined,
  });
}

function openIssuer(parts: IdentityParts): AuthenticatorOptions['jwt'] {
  const { refreshSeconds, cooldownSeconds, issuer = '', jwksUrl, jwksFile, ...rules } = parts.config.auth.jwt;
  const ofAddress = () => {
    const get = keyEgress(parts, jwksUrl ?? issuer);
    return jwksUrl === undefined
      ? keysFromIssuer(issuer, get, parts.access.learn)
      : keysFromUrl(jwksUrl, get);
  };
  const load = jwksFile === undefined ? ofAddress() : keysFromFile(jwksFile);
  const keys = new JwtKeys({ load, refreshSeconds, cooldownSeconds, logger: parts.logger });
  void keys.prepare();
  return { rules: { ...rules, issuer }, keys, introspection: introspectionOf(parts) };
}

function introspectionOf(parts: IdentityParts): IntrospectionOptions | undefined {
  const { url, clientId = '', cacheSeconds, always } = parts.config.auth.introspection;
  if (url === undefined) return undefined;
  const clientSecret = parts.secrets.introspectionSecret ?? '';
  return { url, clientId, clientSecret, cacheSeconds, always, fetch: keyEgress(parts, url) };
}

function keyEgress(parts: IdentityParts, configuredUrl: string): typeof fetch {
  return egressOf(parts, { configuredUrl, timeoutMs: KEYS_TIMEOUT_MS, maxBytes: KEYS_BYTES });
}

function trustedNodes(parts: IdentityParts): Pick<TrustedNodes, 'nodes' | 'audience'> {
  const { auth, a2a } = parts.config;
  const { refreshSeconds, cooldownSeconds } = auth.jwt;
  const nodes = auth.nodes.map(({ name, jwks, keys: file = '', may }) => {
    const load = jwks === undefined ? keysFromFile(file) : keysFromUrl(jwks, keyEgress(parts, jwks));
    const logger = parts.logger.child({ node: name });
    return { name, may, keys: new JwtKeys({ load, refreshSeconds, cooldownSeconds, logger }) };
  });
  return { nodes, audience: auth.audience ?? serverUrl(a2a.baseUrl ?? '', '/').href };
}

/** Throws `invalid-config` when a rule of `auth.jwt.scopes` names an unknown agent or skill. */
export function createAccess({ config, agents, tools }: Parts<'config' | 'agents' | 'tools'>): Access {
  const { mode, jwt } = config.auth;
  const rules = mode === 'jwt' ? jwt.scopes : [];
  for (const rule of rules) assertKnown(rule, agents.get(rule.agent));
  const ofSkills = rules.flatMap(({ skill, scope }) => (skill === undefined ? [] : [{ skill, scope }]));
  const scopeOf = (agent: string): string | undefined =>
    rules.find((rule) => rule.agent === agent && rule.skill === undefined)?.scope;
  let flows: readonly LoginFlow[] = [];
  return {
    scopeOf,
    learn(facts) {
      flows = flowsIn(facts);
    },
    cardAuth(agent) {
      if (mode !== 'jwt') return mode;
      const scope = scopeOf(agent);
      const own = rules.filter((rule) => rule.agent === agent && rule.skill !== undefined);
      const isDiscovered = jwt.jwksUrl === undefined && jwt.jwksFile === undefined;
      return {
        openIdConnectUrl: isDiscovered ? discoveryUrl(jwt.issuer ?? '') : undefined,
        flows,
        audience: jwt.audience,
        scopes: scope === undefined ? [] : [scope],
        skillScopes: new Map(own.map((rule) => [rule.skill ?? '', rule.scope])),
      };
    },
    toolsFor({ scopes }) {
      if (scopes === undefined) return undefined;
      const missing = ofSkills.filter(({ scope }) => !scopes.has(scope)).map(({ skill }) => skill);
      if (missing.length === 0) return undefined;
      return tools.map(({ name }) => name).filter((name) => !missing.includes(skillIdOf(name)));
    },
  };
}

type Rule = Config['auth']['jwt']['scopes'][number];

function assertKnown({ agent, skill }: Rule, known: Agent | undefined): void {
  if (!known) throw wrongScopeRule(`This node runs no agent named ${agent}.`);
  const ids = known.profile.skills.map(({ id }) => id);
  if (skill === undefined || ids.includes(skill)) return;
  throw wrongScopeRule(`The agent ${agent} has no skill ${skill}; its skills: ${ids.join(', ') || 'none'}.`);
}

function wrongScopeRule(message: string): LangoError {
  return new LangoError('invalid-config', message, { hint: 'Correct auth.jwt.scopes.' });
}

/**
 * Whether a caller is an operator: the only owner in the modes `none` and `token`, also when a trusted node forwards
 * that owner, or a caller with the scope `auth.jwt.operatorScope`. In mode `mtls` there are no operators.
 */
export function isOperator(
  { mode, jwt }: Config['auth'],
  owner: string,
  scopes: Iterable<string> | undefined,
): boolean {
  if (scopes) return new Set(scopes).has(jwt.operatorScope);
  return mode !== 'mtls' && Object.values<string>(ONLY_OWNER).includes(owner);
}

/** `config`: the settings that the node was started with. `guard` resolves references to values in the vault. */
interface CredentialParts extends Parts<'guard' | 'config' | 'hidden' | 'logger'> {
  readonly agent: RemoteAgentConfig;
  readonly values: RemoteSecrets;
}

/** Seconds for which a value of the vault is cached. A refused value is read again. */
const VAULT_SECONDS = 300;
const TOKEN_BYTES = 64 * 1024;
/** The newest token, and the one before: requests with it may be under way. */
const HIDDEN_TOKENS = 2;

/** Makes the credential for requests to a remote agent, from its entry; undefined for an entry without one. */
export function createPeerCredential(parts: CredentialParts): PeerCredential | undefined {
  const { agent, values } = parts;
  const { auth } = agent;
  const host = new URL(agent.url).hostname;
  const kinds = kindsOf(parts);
  if (kinds.length === 0) return undefined;
  if (auth?.oauth2) return new KeptCredential(kinds, oauthLoader(parts, auth.oauth2));
  return new KeptCredential(kinds, async () => {
    const value = values.bearer ?? values.apiKey ?? values.password ?? '';
    const seconds = referencedSecrets(value).length > 0 ? VAULT_SECONDS : undefined;
    return { shown: shownOf(agent, values, await resolved(value, host, parts)), seconds };
  });
}

function kindsOf({ agent: { auth }, values }: CredentialParts): readonly CredentialKind[] {
  const { apiKey, basic, oauth2, mtls } = auth ?? {};
  const { header, query } = apiKey ?? {};
  return [
    ...(values.bearer === undefined ? [] : [{ type: 'bearer' } as const]),
    ...(header === undefined ? [] : [{ type: 'apiKey', in: 'header', name: header } as const]),
    ...(query === undefined ? [] : [{ type: 'apiKey', in: 'query', name: query } as const]),
    ...(basic ? [{ type: 'basic' } as const] : []),
    ...(oauth2 ? [{ type: 'oauth2', scopes: oauth2.scopes } as const] : []),
    ...(mtls ? [{ type: 'mtls' } as const] : []),
  ];
}

function shownOf(
  { auth }: RemoteAgentConfig,
  { bearer }: RemoteSecrets,
  value: string,
): LoadedValues['shown'] {
  const { apiKey, basic } = auth ?? {};
  if (bearer !== undefined) return { headers: { authorization: `Bearer ${value}` } };
  if (basic) {
    const pair = Buffer.from(`${basic.user}:${value}`).toString('base64');
    return { headers: { authorization: `Basic ${pair}` } };
  }
  if (apiKey?.query !== undefined) return { headers: {}, query: [apiKey.query, value] };
  return { headers: apiKey?.header === undefined ? {} : { [apiKey.header.toLowerCase()]: value } };
}

/** Puts values of the vault in the place of their references. They belong to the owner of the node's own token. */
async function resolved(
  text: string,
  host: string,
  { guard, config }: Parts<'guard' | 'config'>,
): Promise<string> {
  if (referencedSecrets(text).length === 0) return text;
  return guard.resolve(ownOwner(config), text, { tool: 'a2a', place: 'http', host });
}

/** Makes the function that gets access tokens by client credentials, as headers of requests. */
function oauthLoader(parts: CredentialParts, oauth2: OAuth2Config): () => Promise<LoadedValues> {
  const { config, hidden } = parts;
  const { clientSecret } = parts.values;
  const { audience, resource, privateKeyFile, ...client } = oauth2;
  const address = oauth2.tokenUrl ?? oauth2.issuer ?? '';
  const request = createTokenRequest({
    ...client,
    keyFile: privateKeyFile,
    parameters: {
      ...(audience === undefined ? {} : { audience }),
      ...(resource === undefined ? {} : { resource }),
    },
    clientSecret:
      clientSecret === undefined ? undefined : () => resolved(clientSecret, new URL(address).hostname, parts),
    fetch: egressOf(parts, {
      configuredUrl: address,
      timeoutMs: 1_000 * config.a2a.connectSeconds,
      maxBytes: TOKEN_BYTES,
    }),
  });
  const shown = new BoundedCache<string, true>(HIDDEN_TOKENS, { onDropped: (token) => hidden.delete(token) });
  return async () => {
    const { token, seconds } = await request();
    hidden.add(token);
    shown.set(token, true);
    return { shown: { headers: { authorization: `Bearer ${token}` } }, seconds };
  };
}
