import type { Env } from './env.js';
import { ENV_VARIABLES } from './env.js';
import type { Path } from './problem.js';
import { keyOf } from './problem.js';

/** Where a value came from. */
export type Origin = 'default' | 'file' | 'env' | 'flag';

/** What the command line may set. */
export interface Overrides {
  readonly host?: string;
  readonly port?: number;
  readonly configFile?: string;
  readonly home?: string;
}

/** One value from outside the file. */
interface Given {
  readonly path: Path;
  readonly value: unknown;
  readonly origin: Origin;
  /** How a message points at it: the variable's or the flag's name. */
  readonly at: string;
}

export interface Layered {
  readonly values: unknown;
  /** By key ("server.port", "a2a.remoteAgents[0].url"); what is not in it is a default. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** By key, for what came from outside the file. */
  readonly places: ReadonlyMap<string, string>;
}

type Group = Record<string, unknown>;

/** Secrets of the environment fill what the file leaves out; the other variables and flags win over it. */
export function layer(fileValues: Group, env: Env, overrides: Overrides): Layered {
  const values = structuredClone(fileValues);
  const origins = new Map<string, Origin>(leafKeys(fileValues).map((key) => [key, 'file']));
  const places = new Map<string, string>();
  const apply = (given: Given): void => {
    if (given.value === undefined || !setAt(values, given.path, given.value)) return;
    origins.set(keyOf(given.path), given.origin);
    places.set(keyOf(given.path), given.at);
  };
  for (const given of secretsFrom(env, values)) if (!origins.has(keyOf(given.path))) apply(given);
  for (const given of winners(env, overrides)) apply(given);
  return { values, origins, places };
}

function secretsFrom(env: Env, values: Group): readonly Given[] {
  const provider = isGroup(values['model']) ? values['model']['provider'] : undefined;
  const key = provider === 'openai' ? 'openaiApiKey' : 'anthropicApiKey';
  const apiKey = provider === 'offline' ? undefined : env[key];
  return [
    { path: ['auth', 'token'], value: env.token, origin: 'env', at: ENV_VARIABLES.token.name },
    { path: ['model', 'apiKey'], value: apiKey, origin: 'env', at: ENV_VARIABLES[key].name },
    {
      path: ['vault', 'passphrase'],
      value: env.vaultPassphrase,
      origin: 'env',
      at: ENV_VARIABLES.vaultPassphrase.name,
    },
    ...embeddingKey(env, values),
  ];
}

function embeddingKey(env: Env, values: Group): readonly Given[] {
  const provider = isGroup(values['embedding']) ? values['embedding']['provider'] : undefined;
  if (provider !== 'openai' && provider !== 'voyage') return [];
  const key = `${provider}ApiKey` as const;
  return [{ path: ['embedding', 'apiKey'], value: env[key], origin: 'env', at: ENV_VARIABLES[key].name }];
}

function winners(env: Env, overrides: Overrides): readonly Given[] {
  return [
    { path: ['logging', 'level'], value: env.logLevel, origin: 'env', at: ENV_VARIABLES.logLevel.name },
    { path: ['server', 'host'], value: overrides.host, origin: 'flag', at: '--host' },
    { path: ['server', 'port'], value: overrides.port, origin: 'flag', at: '--port' },
  ];
}

/** False when something that is not a group stands in the way: the schema will complain about it. */
function setAt(values: Group, path: Path, value: unknown): boolean {
  let group = values;
  for (const step of path.slice(0, -1)) {
    const next = (group[String(step)] ??= {});
    if (!isGroup(next)) return false;
    group = next;
  }
  group[String(path.at(-1))] = value;
  return true;
}

function leafKeys(value: unknown, path: Path = []): readonly string[] {
  if (Array.isArray(value)) {
    return [keyOf(path), ...value.flatMap((item, index) => leafKeys(item, [...path, index]))];
  }
  if (!isGroup(value)) return [keyOf(path)];
  return Object.entries(value).flatMap(([key, child]) => leafKeys(child, [...path, key]));
}

export function isGroup(value: unknown): value is Group {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
