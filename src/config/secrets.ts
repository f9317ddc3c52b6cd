import type { Config } from './config.js';
import { modelKeysOf } from './models.js';
import type { Settings } from './schema.js';

/** The secrets of the configuration. They must never be logged, unlike `Config`. */
export interface Secrets {
  /** The bearer token of the server. Undefined if neither file nor environment has one: see `loadOrCreateToken`. */
  readonly token: string | undefined;
  /** The API keys of models: by provider, and by the configuration key of a model with a key of its own. */
  readonly modelKeys: ReadonlyMap<string, string>;
  /** The secret of this server for token introspection. */
  readonly introspectionSecret: string | undefined;
  /** The API key of the embedding provider. */
  readonly embeddingApiKey: string | undefined;
  readonly webSearchApiKey: string | undefined;
  /** The values of the credentials for remote agents, by their name. */
  readonly remotes: ReadonlyMap<string, RemoteSecrets>;
  /** The environment variables, headers and client secrets for MCP servers, by the name of the server. */
  readonly mcp: ReadonlyMap<string, McpSecrets>;
  /** The headers of requests to the collector of traces. */
  readonly otlpHeaders: Readonly<Record<string, string>>;
  /** The passphrase of the vault's master key; undefined if the key is in a file. */
  readonly vaultPassphrase: string | undefined;
  /** The PostgreSQL database with its password; undefined for the embedded database. */
  readonly databaseUrl: string | undefined;
}

/** The secret of one credential: at most one field is set. */
export interface RemoteSecrets {
  readonly bearer?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly password?: string | undefined;
  readonly clientSecret?: string | undefined;
}

interface McpSecrets {
  /** The environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  /** The secret of the OAuth2 client. */
  readonly clientSecret?: string | undefined;
  /** The headers of each request, the one with the token included. */
  readonly headers: Readonly<Record<string, string>>;
}

export function secretsOf(settings: Settings, { model }: Pick<Config, 'model'>): Secrets {
  const { auth, embedding, webSearch, a2a, mcp, vault, storage, telemetry } = settings;
  return {
    token: auth.token,
    introspectionSecret: auth.introspection.clientSecret,
    modelKeys: modelKeysOf(settings, model),
    embeddingApiKey: embedding.apiKey,
    webSearchApiKey: webSearch.apiKey,
    vaultPassphrase: vault.passphrase,
    otlpHeaders: telemetry.otlp.headers,
    mcp: new Map(
      Object.entries(mcp.servers).map(([name, { env, headers, token, oauth2, login }]) => [
        name,
        {
          env,
          clientSecret: oauth2?.clientSecret ?? login?.clientSecret,
          headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
        },
      ]),
    ),
    databaseUrl: storage.url,
    remotes: new Map(
      a2a.remoteAgents.map(({ name, token, auth }) => [
        name,
        {
          bearer: token ?? auth?.bearer,
          apiKey: auth?.apiKey?.value,
          password: auth?.basic?.password,
          clientSecret: auth?.oauth2?.clientSecret,
        },
      ]),
    ),
  };
}

/** Every value, for the redaction of the log. */
export function secretValues(secrets: Secrets): readonly string[] {
  const ofServers = [...secrets.mcp.values(), { env: {}, headers: secrets.otlpHeaders }].flatMap((one) => [
    ...Object.values(one.env),
    ...('clientSecret' in one && one.clientSecret !== undefined ? [one.clientSecret] : []),
    ...Object.values(one.headers).map((header) => header.replace(/^(Bearer|Basic) /i, '')),
  ]);
  const ofRemotes = [...secrets.remotes.values()].flatMap((remote) =>
    Object.values<string | undefined>({ ...remote }).filter((value) => value !== undefined),
  );
  const values = [...valuesByKey(secrets).values(), ...ofRemotes];
  return [...values, ...ofServers.filter(({ length }) => length >= SECRET_MIN_LENGTH)];
}

/** A shorter header or variable of an MCP server is taken for a setting, such as "1", and stays in the log. */
const SECRET_MIN_LENGTH = 8;

const KEYS = {
  token: 'auth.token',
  introspectionSecret: 'auth.introspection.clientSecret',
  embeddingApiKey: 'embedding.apiKey',
  webSearchApiKey: 'webSearch.apiKey',
  vaultPassphrase: 'vault.passphrase',
  databaseUrl: 'storage.url',
} satisfies Record<keyof Omit<Secrets, 'remotes' | 'mcp' | 'modelKeys' | 'otlpHeaders'>, string>;

/** The secrets that are set, by configuration key. Without those for remote agents. */
export function valuesByKey(secrets: Secrets): ReadonlyMap<string, string> {
  const single = Object.entries(KEYS).flatMap(([name, key]) => {
    const value = secrets[name as keyof typeof KEYS];
    return value === undefined ? [] : [[key, value] as const];
  });
  const ofModels = [...secrets.modelKeys].map(([name, value]) => [`model.apiKeys.${name}`, value] as const);
  return new Map([...single, ...ofModels]);
}
