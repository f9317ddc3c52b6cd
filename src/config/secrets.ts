import { addressSecrets } from './address-secrets.js';
import type { PeerSecrets } from '../core/credential.js';
import { LangoError } from '../core/errors.js';
import { mapSettings } from '../core/fields.js';
import type { Config } from './config.js';
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
  /** The values of all keys that are secrets, for the redaction of the log. */
  readonly marked: readonly string[];
  /** The keys and passwords in web addresses. */
  readonly inAddresses: readonly string[];
  /** The PostgreSQL database with its password; undefined for the embedded database. */
  readonly databaseUrl: string | undefined;
  /** The bearer token that reads the metrics alone. */
  readonly metricsToken: string | undefined;
}

export function secretsOf(schema: SettingsSchema, settings: Settings, { model }: Config): Secrets {
  const { auth, a2a, metrics, storage, telemetry } = settings;
  return {
    token: auth.token,
    introspectionSecret: auth.introspection.clientSecret,
    modelKeys: modelSecretsOf('apiKey', settings, model),
    modelOptions: modelSecretsOf('secretOptions', settings, model),
    marked: markedIn(schema, settings),
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

/** A shorter header or variable is taken for a setting, such as "1", and stays in the log. */
const SECRET_MIN_LENGTH = 8;

function markedIn(schema: SettingsSchema, settings: Settings): readonly string[] {
  const found: string[] = [];
  mapSettings(schema.zod, settings, (value, kind, [group]) => {
    // Of the address of a proxy, only the password is a secret.
    if (kind !== 'secret' || group === 'egress') return value;
    if (typeof value === 'string') found.push(value);
    else {
      const headers = Object.values(value as Readonly<Record<string, string>>);
      const plain = headers.map((header) => header.replace(/^(Bearer|Basic) /i, ''));
      found.push(...plain.filter(({ length }) => length >= SECRET_MIN_LENGTH));
    }
    return value;
  });
  return found;
}

/** Every value, for the redaction of the log. */
export function secretValues({ token, marked, inAddresses }: Secrets): readonly string[] {
  return [...(token === undefined ? [] : [token]), ...marked, ...inAddresses];
}
