import {
  KeptCredential,
  type CredentialKind,
  type LoadedValues,
  type PeerCredential,
} from '../a2a/client/credential.js';
import type { Config, OAuth2Config, RemoteAgentConfig } from '../config/config.js';
import type { RemoteSecrets } from '../config/secrets.js';
import type { Logger } from '../core/logger.js';
import { referencedSecrets, type SecretGuard } from '../core/secrets.js';
import { createEgress } from '../http/egress.js';
import { ONLY_OWNER } from '../http/identity.js';
import { createTokenRequest } from '../http/oauth-client.js';

export interface CredentialParts {
  readonly agent: RemoteAgentConfig;
  readonly values: RemoteSecrets;
  /** Resolves the references of values that are in the vault. */
  readonly guard: SecretGuard;
  /** The settings that the node was started with. */
  readonly config: Config;
  /** The values that the log hides: gets the newest access tokens. */
  readonly hidden: Set<string>;
  readonly logger: Logger;
}

/** How long a value of the vault is kept. A server that refuses it has it read again. */
const VAULT_SECONDS = 300;
const TOKEN_BYTES = 64 * 1024;
/** The newest token, and the one before: requests with it may be under way. */
const HIDDEN_TOKENS = 2;

/** Makes what requests to a remote agent show, from its entry; undefined for an entry without a credential. */
export function createPeerCredential(parts: CredentialParts): PeerCredential | undefined {
  const { agent, values } = parts;
  const { auth } = agent;
  const host = new URL(agent.url).hostname;
  const kinds = kindsOf(parts);
  if (kinds.length === 0) return undefined;
  if (auth?.oauth2) {
    const { clientSecret } = values;
    return new KeptCredential(kinds, oauthLoader({ ...parts, oauth2: auth.oauth2, clientSecret }));
  }
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
function resolved(
  text: string,
  host: string,
  { guard, config }: Pick<CredentialParts, 'guard' | 'config'>,
): Promise<string> {
  if (referencedSecrets(text).length === 0) return Promise.resolve(text);
  const owner = config.auth.mode === 'none' ? ONLY_OWNER.none : ONLY_OWNER.token;
  return guard.resolve({ tenant: '', owner }, text, { tool: 'a2a', place: 'http', host });
}

export interface OAuthParts extends Pick<CredentialParts, 'guard' | 'config' | 'hidden' | 'logger'> {
  readonly oauth2: OAuth2Config;
  readonly clientSecret: string | undefined;
}

/** Makes the function that gets access tokens by client credentials, as headers of requests. */
export function oauthLoader(parts: OAuthParts): () => Promise<LoadedValues> {
  const { config, oauth2, clientSecret, hidden, logger } = parts;
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
    fetch: createEgress({
      allowPrivate: config.egress.allowPrivate,
      configuredUrl: address,
      timeoutMs: 1_000 * config.a2a.connectSeconds,
      maxBytes: TOKEN_BYTES,
      logger,
    }),
  });
  const shownTokens: string[] = [];
  return async () => {
    const { token, seconds } = await request();
    hidden.add(token);
    shownTokens.push(token);
    if (shownTokens.length > HIDDEN_TOKENS) hidden.delete(shownTokens.shift()!);
    return { shown: { headers: { authorization: `Bearer ${token}` } }, seconds };
  };
}
