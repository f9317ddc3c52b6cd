import { addressSecrets } from './address-secrets.js';
import { keyOf, type Path } from '../core/findings.js';
import type { Capability } from '../core/capability.js';
import type { PeerSecrets } from '../core/credential.js';
import { LangoError } from '../core/errors.js';
import { mapSettings } from '../core/fields.js';
import { groupsOf, type Config } from './config.js';
import { modelSecretsOf } from './models.js';
import type { Settings, SettingsSchema } from './schema.js';

/** The secrets of the configuration. They must never be logged, unlike `Config`. */
export interface Secrets {
  /** The bearer token of the server. Undefined if neither file nor environment has one: see `loadOrCreateToken`. */
  readonly token: string | undefined;
  /** The API keys of models: by provider, and by the configuration key of a model with a key of its own. */
  readonly modelKeys: ReadonlyMap<string, string>;
  /** The `secretOptions` of models, by the same names. */
  readonly modelOptions: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** The secret of this server for token introspection. */
  readonly introspectionSecret: string | undefined;
  /** The values of the credentials for remote agents, by their name. */
  readonly remotes: ReadonlyMap<string, PeerSecrets>;
  /** The headers of requests to the collector of traces. */
  readonly otlpHeaders: Readonly<Record<string, string>>;
  /** The secrets in the settings of capabilities, by key. */
  readonly ofCapabilities: ReadonlyMap<string, string>;
  /** The keys and passwords in web addresses. */
  readonly inAddresses: readonly string[];
  /** The PostgreSQL database with its password; undefined for the embedded database. */
  readonly databaseUrl: string | undefined;
  /** The bearer token that reads the metrics alone. */
  readonly metricsToken: string | undefined;
}

export function secretsOf(
  schema: SettingsSchema,
  settings: Settings,
  { model }: Pick<Config, 'model'>,
): Secrets {
  const { auth, a2a, metrics, storage, telemetry } = settings;
  return {
    token: auth.token,
    introspectionSecret: auth.introspection.clientSecret,
    modelKeys: modelSecretsOf('apiKey', settings, model),
    modelOptions: modelSecretsOf('secretOptions', settings, model),
    ofCapabilities: new Map(schema.capabilities.flatMap((one) => secretsIn(one, settings))),
    otlpHeaders: telemetry.otlp.headers,
    inAddresses: addressSecrets(settings),
    databaseUrl: storage.url,
    metricsToken: metrics.token,
    remotes: new Map(a2a.remoteAgents.map((agent) => [agent.name, remoteSecretsOf(agent)])),
  };
}

function remoteSecretsOf({ token, auth }: Settings['a2a']['remoteAgents'][number]): PeerSecrets {
  const { bearer, apiKey, basic, oauth2 } = auth ?? {};
  const [password, clientSecret] = [basic?.password, oauth2?.clientSecret];
  return { bearer: token ?? bearer, apiKey: apiKey?.value, password, clientSecret };
}

/** The PostgreSQL database. Throws `invalid-config` when the configuration names none. */
export function requireDatabaseUrl({ databaseUrl }: Secrets): string {
  if (databaseUrl !== undefined) return databaseUrl;
  const hint = 'Set LANGO_DATABASE_URL, or storage.url.';
  throw new LangoError('invalid-config', 'The configuration names no PostgreSQL database.', { hint });
}

/** The secrets in the settings of a capability, by key. */
function secretsIn(capability: Capability, settings: Settings): readonly (readonly [string, string])[] {
  const found: [string, string][] = [];
  const add = (path: Path, value: unknown): void => {
    if (typeof value === 'string') found.push([keyOf(path), value]);
    else for (const [key, inner] of Object.entries(value ?? {})) add([...path, key], inner);
  };
  const groups = groupsOf(capability, settings);
  for (const [place, schema] of Object.entries(capability.settings ?? {})) {
    mapSettings(schema, groups[place], (value, kind, path) => {
      if (kind === 'secret') add([...place.split('.'), ...path], value);
      return value;
    });
  }
  return found;
}

/** Every value, for the redaction of the log. */
export function secretValues(secrets: Secrets): readonly string[] {
  const { ofCapabilities, otlpHeaders } = secrets;
  const ofModels = [...secrets.modelOptions.values()].flatMap((options) => Object.values(options));
  const headers = [...ofCapabilities.values(), ...Object.values(otlpHeaders), ...ofModels];
  const ofHeaders = headers.map((header) => header.replace(/^(Bearer|Basic) /i, ''));
  const ofRemotes = [...secrets.remotes.values()].flatMap((remote) =>
    Object.values<string | undefined>({ ...remote }).filter((value) => value !== undefined),
  );
  const own = [...valuesByKey({ ...secrets, ofCapabilities: new Map() }).values()];
  const others = [...ofRemotes, ...secrets.inAddresses];
  return [...own, ...others, ...ofHeaders.filter(({ length }) => length >= SECRET_MIN_LENGTH)];
}

/** A shorter header or variable is taken for a setting, such as "1", and stays in the log. */
const SECRET_MIN_LENGTH = 8;

const KEYS = {
  token: 'auth.token',
  introspectionSecret: 'auth.introspection.clientSecret',
  databaseUrl: 'storage.url',
  metricsToken: 'metrics.token',
} satisfies Record<keyof Omit<Secrets, ListedApart>, string>;

type ListedApart =
  'remotes' | 'modelKeys' | 'modelOptions' | 'otlpHeaders' | 'ofCapabilities' | 'inAddresses';

/** The secrets that are set, by configuration key. Without those for remote agents. */
export function valuesByKey(secrets: Secrets): ReadonlyMap<string, string> {
  const single = Object.entries(KEYS).flatMap(([name, key]) => {
    const value = secrets[name as keyof typeof KEYS];
    return value === undefined ? [] : [[key, value] as const];
  });
  const ofModels = [...secrets.modelKeys].map(([name, value]) => [`model.apiKeys.${name}`, value] as const);
  return new Map([...single, ...ofModels, ...secrets.ofCapabilities]);
}
