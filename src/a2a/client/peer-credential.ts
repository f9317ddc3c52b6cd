import { BoundedCache } from '../../core/bounded-cache.js';
import { KeptCredential, type CredentialKind } from '../../core/credential.js';
import type { CreateTokenRequest, LoadedValues } from '../../core/credential.js';
import type { PeerCredential, PeerSecrets } from '../../core/credential.js';
import type { CertificateFiles, CreateFetch } from '../../core/http.js';
import type { OAuth2Client } from '../../core/oauth2-fields.js';
import { referencedSecrets, type SecretGuard } from '../../core/secrets.js';
import type { Scope } from '../../core/task.js';

/** The authentication of requests to a remote agent, as its entry has it, without the values. */
interface PeerAuth {
  readonly apiKey?: { readonly header?: string | undefined; readonly query?: string | undefined } | undefined;
  readonly basic?: { readonly user: string } | undefined;
  readonly oauth2?: Omit<OAuth2Client, 'clientSecret'> | undefined;
  readonly mtls?: CertificateFiles | undefined;
}

/** An agent of another server, and the values of its credential. */
export interface PeerEntry {
  readonly agent: { readonly url: string; readonly auth?: PeerAuth | undefined };
  readonly values: PeerSecrets;
}

/** The parts that the credentials of all peers need. */
export interface CredentialParts {
  /** Resolves references to values in the vault, which belong to `owner`. */
  readonly guard: SecretGuard;
  /** The owner of the node's own token. */
  readonly owner: Scope;
  /** The values that the log hides: gets new tokens before they are used. */
  readonly hidden: Set<string>;
  readonly createFetch: CreateFetch;
  readonly createTokenRequest: CreateTokenRequest;
  /** The time limit of a request for a token or a card, and of a call over gRPC. */
  readonly timeoutMs: number;
}

/** Seconds for which a value of the vault is cached. A refused value is read again. */
const VAULT_SECONDS = 300;
/** The newest token, and the one before: requests with it may be under way. */
const HIDDEN_TOKENS = 2;

/** Makes the credential for requests to a remote agent, from its entry; undefined for an entry without one. */
export function createPeerCredential(entry: PeerEntry, parts: CredentialParts): PeerCredential | undefined {
  const { agent, values } = entry;
  const kinds = kindsOf(entry);
  if (kinds.length === 0) return undefined;
  if (agent.auth?.oauth2) {
    const { clientSecret } = values;
    return new KeptCredential(kinds, oauthLoader(agent.auth.oauth2, clientSecret, parts));
  }
  const host = new URL(agent.url).hostname;
  return new KeptCredential(kinds, async () => {
    const value = values.bearer ?? values.apiKey ?? values.password ?? '';
    const seconds = referencedSecrets(value).length > 0 ? VAULT_SECONDS : undefined;
    return { shown: shownOf(entry, await resolved(value, host, parts)), seconds };
  });
}

function kindsOf({ agent: { auth }, values }: PeerEntry): readonly CredentialKind[] {
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

function shownOf({ agent: { auth }, values }: PeerEntry, value: string): LoadedValues['shown'] {
  const { apiKey, basic } = auth ?? {};
  if (values.bearer !== undefined) return { headers: { authorization: `Bearer ${value}` } };
  if (basic) {
    const pair = Buffer.from(`${basic.user}:${value}`).toString('base64');
    return { headers: { authorization: `Basic ${pair}` } };
  }
  if (apiKey?.query !== undefined) return { headers: {}, query: [apiKey.query, value] };
  return { headers: apiKey?.header === undefined ? {} : { [apiKey.header.toLowerCase()]: value } };
}

/** Puts values of the vault in the place of their references. */
async function resolved(text: string, host: string, { guard, owner }: CredentialParts): Promise<string> {
  if (referencedSecrets(text).length === 0) return text;
  return guard.resolve(owner, text, { tool: 'a2a', place: 'http', host });
}

/** Makes the function that gets access tokens by client credentials, as headers of requests. */
function oauthLoader(
  client: NonNullable<PeerAuth['oauth2']>,
  clientSecret: string | undefined,
  parts: CredentialParts,
): () => Promise<LoadedValues> {
  const { hidden, timeoutMs, createFetch } = parts;
  const { hostname } = new URL(client.tokenUrl ?? client.issuer ?? '');
  const request = parts.createTokenRequest({
    ...{ ...client, createFetch, timeoutMs },
    clientSecret: clientSecret === undefined ? undefined : () => resolved(clientSecret, hostname, parts),
  });
  const shown = new BoundedCache<string, true>(HIDDEN_TOKENS, { onDropped: (token) => hidden.delete(token) });
  return async () => {
    const loaded = await request();
    hidden.add(loaded.token);
    shown.set(loaded.token, true);
    return loaded;
  };
}
