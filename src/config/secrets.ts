import type { Settings } from './schema.js';

/** What must not reach a log. Kept apart from `Config`, which may. */
export interface Secrets {
  /** Undefined when neither file nor environment has one: see token.ts. */
  readonly token: string | undefined;
  /** For the provider that the configuration chose. */
  readonly modelApiKey: string | undefined;
  /** For the embedding provider. */
  readonly embeddingApiKey: string | undefined;
  readonly webSearchApiKey: string | undefined;
  /** The bearer tokens of remote agents, by their name. */
  readonly remoteTokens: ReadonlyMap<string, string>;
  /** What the vault's master key is made from; undefined when that is in a file. */
  readonly vaultPassphrase: string | undefined;
}

export function secretsOf({ auth, model, embedding, webSearch, a2a, vault }: Settings): Secrets {
  return {
    token: auth.token,
    modelApiKey: model.apiKey,
    embeddingApiKey: embedding.apiKey,
    webSearchApiKey: webSearch.apiKey,
    vaultPassphrase: vault.passphrase,
    remoteTokens: new Map(
      a2a.remoteAgents.flatMap(({ name, token }) => (token === undefined ? [] : [[name, token] as const])),
    ),
  };
}

/** Every value, for the log's redaction. */
export function secretValues(secrets: Secrets): readonly string[] {
  return [...valuesByKey(secrets).values(), ...secrets.remoteTokens.values()];
}

const KEYS = {
  token: 'auth.token',
  modelApiKey: 'model.apiKey',
  embeddingApiKey: 'embedding.apiKey',
  webSearchApiKey: 'webSearch.apiKey',
  vaultPassphrase: 'vault.passphrase',
} satisfies Record<keyof Omit<Secrets, 'remoteTokens'>, string>;

/** Those that are set, but for the tokens of remote agents, by the key that they stand under. */
export function valuesByKey(secrets: Secrets): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(KEYS).flatMap(([name, key]) => {
      const value = secrets[name as keyof typeof KEYS];
      return value === undefined ? [] : [[key, value] as const];
    }),
  );
}
