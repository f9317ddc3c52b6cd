import { homedir } from 'node:os';
import { join } from 'node:path';
import { readSecretFile, type Variables } from './secret-files.js';

/** Every environment variable that Lango reads, with the name that other programs use too. */
export const ENV_VARIABLES = {
  home: { name: 'LANGO_HOME', description: 'The data folder. Default: `~/.lango`.' },
  configFile: {
    name: 'LANGO_CONFIG',
    description: 'The configuration file. Default: `config.yaml` in the data folder, if it exists.',
  },
  token: { name: 'LANGO_TOKEN', description: 'The bearer token, if the file has no `auth.token`.' },
  anthropicApiKey: {
    name: 'ANTHROPIC_API_KEY',
    description: 'The API key of the provider `anthropic`, if the file has no `model.apiKey`.',
  },
  openaiApiKey: {
    name: 'OPENAI_API_KEY',
    description:
      'The API key of the provider `openai`, if the file has no `model.apiKey` or `embedding.apiKey`.',
  },
  databaseUrl: {
    name: 'LANGO_DATABASE_URL',
    description: 'The PostgreSQL database, if the file has no `storage.url`.',
  },
  databaseCa: {
    name: 'LANGO_DATABASE_CA',
    description: 'The file of the authorities of the PostgreSQL server, if the file has no `storage.caFile`.',
  },
  metricsToken: {
    name: 'LANGO_METRICS_TOKEN',
    description: 'The bearer token for the metrics, if the file has no `metrics.token`.',
  },
  httpsProxy: {
    name: 'HTTPS_PROXY',
    also: 'https_proxy',
    description: 'The proxy for https addresses, if the file has no `egress.proxy`. Also `https_proxy`.',
  },
  httpProxy: {
    name: 'HTTP_PROXY',
    also: 'http_proxy',
    description: 'The proxy for http addresses, if the file has no `egress.proxy`. Also `http_proxy`.',
  },
  noProxy: {
    name: 'NO_PROXY',
    also: 'no_proxy',
    description: 'The hosts without a proxy, if the file has no `egress.noProxy`. Also `no_proxy`.',
  },
  anthropicBaseUrl: {
    name: 'ANTHROPIC_BASE_URL',
    description: 'The address of the provider `anthropic`, if the file has no `model.baseUrl`.',
  },
  openaiBaseUrl: {
    name: 'OPENAI_BASE_URL',
    also: 'OPENAI_API_BASE',
    description:
      'The address of the provider `openai`, if the file has no `model.baseUrl` or `embedding.baseUrl`. Also `OPENAI_API_BASE`.',
  },
  logLevel: { name: 'LANGO_LOG_LEVEL', description: 'The log level. Overrides `logging.level` of the file.' },
  url: {
    name: 'LANGO_URL',
    description: 'The server that client commands call. Default: the address in the configuration.',
  },
  noColor: { name: 'NO_COLOR', description: 'Any value turns colors off in the terminal.' },
  forceColor: {
    name: 'FORCE_COLOR',
    description: 'Any value but 0 turns colors on, also without a terminal. `NO_COLOR` overrides it.',
  },
} as const;

/** The variables of this table that hold secrets: each may be in a file, which the variable with `_FILE` names. */
export const SECRET_VARIABLES = [
  'token',
  'anthropicApiKey',
  'openaiApiKey',
  'databaseUrl',
  'metricsToken',
] as const;

type Texts = Readonly<Record<keyof typeof ENV_VARIABLES, string | undefined>>;

export interface Env extends Omit<Texts, 'home' | 'noColor' | 'forceColor'> {
  readonly home: string;
  readonly noColor: boolean;
  readonly forceColor: boolean;
  /** Whether npm or npx started this program: `lango` alone is then no command of the shell. */
  readonly isStartedByNpm: boolean;
  /** All variables, for `${VAR}` in the configuration file. They hold secrets: never log them. */
  readonly variables: Variables;
}

/** The only reader of `process.env`. An empty variable counts as not set. */
export function readEnv(env: Variables = process.env): Env {
  const named = Object.entries<{ readonly name: string; readonly also?: string }>(ENV_VARIABLES);
  const read = named.map(([key, { name, also = name }]) => {
    return [key, [env[name], env[also]].map((text) => text?.trim()).find(Boolean)];
  });
  const texts = Object.fromEntries(read) as Texts;
  const inFiles = SECRET_VARIABLES.flatMap((key) => {
    const file = readSecretFile(env, ENV_VARIABLES[key].name);
    return file ? [[key, file.value]] : [];
  });
  return {
    ...{ ...texts, ...(Object.fromEntries(inFiles) as Partial<Texts>) },
    home: texts.home ?? join(homedir(), '.lango'),
    noColor: texts.noColor !== undefined,
    forceColor: (texts.forceColor ?? '0') !== '0',
    isStartedByNpm: env['npm_command'] !== undefined,
    variables: { ...env },
  };
}
