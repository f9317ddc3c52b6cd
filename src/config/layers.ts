import { keyAt, keyOf, type Path } from '../core/findings.js';
import type { SecretVariable } from '../core/capability.js';
import { ENV_VARIABLES, type Env } from './env.js';
import type { Problem } from './problems.js';
import { fileVariable, readSecretFile } from './secret-files.js';
import { valueAt } from './config.js';

/** The origin of a value. */
export type Origin = 'default' | 'file' | 'env' | 'flag';

/** Settings of the command line. */
export interface Overrides {
  readonly host?: string;
  readonly port?: number;
  readonly configFile?: string;
  readonly home?: string;
  /** Further entries of `agent.models`. */
  readonly models?: Group;
}

/** A value of the environment or the command line. */
interface Override {
  readonly path: Path;
  readonly value: unknown;
  readonly origin: Origin;
  /** The name of the variable or flag, for messages. */
  readonly at: string;
  /** Why the file of the value cannot be used, as part of a sentence. */
  readonly problem?: string | undefined;
  /** Whether other users can read that file. */
  readonly isExposed?: boolean;
}

interface Layered {
  readonly values: unknown;
  /** By key ("server.port", "a2a.remoteAgents[0].url"). A key that is not in it has its default. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** By key: the environment variable or flag that each value came from, if not from the file. */
  readonly sources: ReadonlyMap<string, string>;
  /** The files of secrets that cannot be read. */
  readonly problems: readonly Problem[];
  /** The first key whose secret is in a file that other users can read. */
  readonly exposed: Path | undefined;
}

type Group = Record<string, unknown>;

interface LayerSources {
  readonly env: Env;
  readonly overrides?: Overrides | undefined;
  /** The variables of capabilities. */
  readonly variables: readonly SecretVariable[];
}

/** Combines the sources of values. Variables with secrets fill what the file leaves out; other variables and flags override it. */
export function layer(fileValues: Group, { env, overrides = {}, variables }: LayerSources): Layered {
  let values = withModels(fileValues, overrides.models);
  const origins = new Map<string, Origin>();
  addLeafKeys(origins, fileValues);
  const sources = new Map<string, string>();
  const apply = ({ path, value, origin, at }: Override): void => {
    const changed = value === undefined ? undefined : withValueAt(values, path, value);
    if (!changed) return;
    values = changed;
    origins.set(keyOf(path), origin);
    sources.set(keyOf(path), at);
  };
  const ofCapabilities = variables.flatMap((one) => variableOf(one, env, values));
  const all = [...secretsFrom(env, values), ...ofCapabilities, ...addressesFrom(env, origins)];
  const secrets = all.filter(({ path }) => !origins.has(keyOf(path)));
  [...secrets, ...overridesFrom(env, overrides)].forEach(apply);
  const problems = secrets.flatMap(({ at, path, problem: text }) =>
    text ? [{ at, key: keyOf(path), text }] : [],
  );
  const exposed = secrets.find(({ isExposed }) => isExposed)?.path;
  return { values, origins, sources, problems, exposed };
}

function withModels(values: Group, models: Group = {}): Group {
  const agent = isGroup(values['agent']) ? values['agent'] : {};
  const known = isGroup(agent['models']) ? agent['models'] : {};
  if (Object.keys(models).length === 0) return values;
  return { ...values, agent: { ...agent, models: { ...known, ...models } } };
}

/** The value of a variable with a secret, or of the file that it names. */
function fromEnv({ variables }: Env, name: string, path: Path): Override {
  const file = readSecretFile(variables, name);
  if (!file) return { path, value: variables[name] || undefined, origin: 'env', at: name };
  return { path, origin: 'env', at: fileVariable(name), value: undefined, isExposed: false, ...file };
}

function secretsFrom(env: Env, values: Group): readonly Override[] {
  const { token, anthropicApiKey, openaiApiKey, databaseUrl, metricsToken } = ENV_VARIABLES;
  const vendors = { anthropic: anthropicApiKey.name, openai: openaiApiKey.name };
  const main = vendorOf(env, isGroup(values['model']) ? values['model']['provider'] : undefined);
  return [
    fromEnv(env, token.name, ['auth', 'token']),
    ...(main ? [fromEnv(env, vendors[main], ['model', 'apiKey'])] : []),
    ...MODEL_VENDORS.filter((vendor) => namesVendor(values, vendor)).map((vendor) =>
      fromEnv(env, vendors[vendor], ['model', 'apiKeys', vendor]),
    ),
    fromEnv(env, databaseUrl.name, ['storage', 'url']),
    fromEnv(env, metricsToken.name, ['metrics', 'token']),
  ];
}

/**
 * The variables that decide where requests go and whom they trust: addresses of vendors, proxies, authorities. With a proxy in the file, all
 * variables for proxies are ignored.
 */
function addressesFrom(env: Env, origins: ReadonlyMap<string, Origin>): readonly Override[] {
  const { httpsProxy, httpProxy, noProxy, anthropicBaseUrl, openaiBaseUrl, databaseCa } = ENV_VARIABLES;
  const from = ({ name: at }: { readonly name: string }, path: Path, value: unknown): Override => ({
    ...{ path, value, at },
    origin: 'env',
  });
  const hasProxy = env.httpsProxy !== undefined || env.httpProxy !== undefined;
  return [
    from(anthropicBaseUrl, ['model', 'baseUrls', 'anthropic'], env.anthropicBaseUrl),
    from(openaiBaseUrl, ['model', 'baseUrls', 'openai'], env.openaiBaseUrl),
    ...(hasProxy && !origins.has('egress.proxy')
      ? [
          from(httpsProxy, ['egress', 'proxy'], env.httpsProxy ?? 'direct'),
          from(httpProxy, ['egress', 'httpProxy'], env.httpProxy ?? 'direct'),
        ]
      : []),
    from(databaseCa, ['storage', 'caFile'], env.databaseCa),
    from(noProxy, ['egress', 'noProxy'], env.noProxy?.split(/[\s,]+/).filter(Boolean)),
  ];
}

const MODEL_VENDORS = ['anthropic', 'openai'] as const;

/** Whether the model of an agent or a fallback names its vendor. */
function namesVendor({ agent, model }: Group, vendor: string): boolean {
  const names = (value: unknown): boolean => {
    if (Array.isArray(value)) return value.some(names);
    return isGroup(value) && (value['provider'] === vendor || Object.values(value).some(names));
  };
  return (isGroup(agent) && names(agent['models'])) || (isGroup(model) && names(model['fallbacks']));
}

/** The vendor whose key `model.apiKey` takes from the environment. */
function vendorOf({ variables }: Env, provider: unknown): (typeof MODEL_VENDORS)[number] | undefined {
  if (provider === 'offline' || provider === 'ai-sdk') return undefined;
  const { name } = ENV_VARIABLES.anthropicApiKey;
  const hasAnthropic = variables[name] || variables[fileVariable(name)];
  const isAutomatic = provider === undefined || provider === 'auto';
  return provider === 'openai' || (isAutomatic && !hasAnthropic) ? 'openai' : 'anthropic';
}

/** The value of a variable of a capability, where it applies. */
function variableOf(variable: SecretVariable, env: Env, values: Group): readonly Override[] {
  const { name, path } = variable;
  const group = valueAt(values, keyOf(path.slice(0, -1)));
  return variable.applies?.(isGroup(group) ? group : {}) === false ? [] : [fromEnv(env, name, path)];
}

function overridesFrom({ logLevel }: Env, { host, port }: Overrides): readonly Override[] {
  const at = ENV_VARIABLES.logLevel.name;
  return [
    { path: ['logging', 'level'], value: logLevel, origin: 'env', at },
    { path: ['server', 'host'], value: host, origin: 'flag', at: '--host' },
    { path: ['server', 'port'], value: port, origin: 'flag', at: '--port' },
  ];
}

/** A copy with a value at its path; undefined if a value on the way is not a group, which the schema check reports. */
function withValueAt(values: unknown, [step, ...rest]: Path, value: unknown): Group | undefined {
  if (!isGroup(values)) return undefined;
  const name = String(step);
  const inner = rest.length === 0 ? value : withValueAt(values[name] ?? {}, rest, value);
  return inner === undefined ? undefined : { ...values, [name]: inner };
}

function addLeafKeys(origins: Map<string, Origin>, value: unknown, key = ''): void {
  if (!isGroup(value)) origins.set(key, 'file');
  if (Array.isArray(value)) value.forEach((item, index) => addLeafKeys(origins, item, keyAt(key, index)));
  else if (isGroup(value))
    for (const [name, child] of Object.entries(value)) addLeafKeys(origins, child, keyAt(key, name));
}

export function isGroup(value: unknown): value is Group {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
