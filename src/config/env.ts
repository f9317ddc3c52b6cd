import { homedir } from 'node:os';
import { join } from 'node:path';

/** The environment variables that Lango reads: each named once, here. */
export const ENV_VARIABLES = {
  home: { name: 'LANGO_HOME', description: 'The data folder. Default: `~/.lango`.' },
  configFile: {
    name: 'LANGO_CONFIG',
    description: 'The configuration file. Default: `config.yaml` in the data folder, if it exists.',
  },
  token: { name: 'LANGO_TOKEN', description: 'The bearer token, when the file has no `auth.token`.' },
  anthropicApiKey: {
    name: 'ANTHROPIC_API_KEY',
    description: 'The key for the provider `anthropic`, when the file has no `model.apiKey`.',
  },
  openaiApiKey: {
    name: 'OPENAI_API_KEY',
    description:
      'The key for the provider `openai`, when the file has no `model.apiKey` or `embedding.apiKey`.',
  },
  voyageApiKey: {
    name: 'VOYAGE_API_KEY',
    description: 'The key for the embeddings of `voyage`, when the file has no `embedding.apiKey`.',
  },
  vaultPassphrase: {
    name: 'LANGO_VAULT_PASSPHRASE',
    description: 'What opens the vault, when the file has no `vault.passphrase`.',
  },
  logLevel: { name: 'LANGO_LOG_LEVEL', description: 'Wins over `logging.level` of the file.' },
  url: {
    name: 'LANGO_URL',
    description:
      'The server that client commands talk to. Default: the address that the configuration names.',
  },
  noColor: { name: 'NO_COLOR', description: 'Any value turns colors off.' },
  forceColor: {
    name: 'FORCE_COLOR',
    description: 'Any value but 0 turns colors on where there is no terminal. `NO_COLOR` wins.',
  },
} as const;

export interface Env {
  readonly home: string;
  /** Undefined means `config.yaml` in the home, if it exists. */
  readonly configFile: string | undefined;
  readonly token: string | undefined;
  readonly anthropicApiKey: string | undefined;
  readonly openaiApiKey: string | undefined;
  readonly vaultPassphrase: string | undefined;
  readonly voyageApiKey: string | undefined;
  readonly logLevel: string | undefined;
  readonly url: string | undefined;
  readonly noColor: boolean;
  readonly forceColor: boolean;
  /** Everything, for `${VAR}` in the configuration file. Holds secrets: never log it. */
  readonly variables: Variables;
}

export type Variables = Readonly<Record<string, string | undefined>>;

/** The only reader of `process.env`. A variable that is set to nothing counts as not set. */
export function readEnv(env: Variables = process.env): Env {
  const read = (key: keyof typeof ENV_VARIABLES): string | undefined =>
    env[ENV_VARIABLES[key].name] || undefined;
  return {
    home: read('home') ?? join(homedir(), '.lango'),
    configFile: read('configFile'),
    token: read('token'),
    anthropicApiKey: read('anthropicApiKey'),
    openaiApiKey: read('openaiApiKey'),
    vaultPassphrase: read('vaultPassphrase'),
    voyageApiKey: read('voyageApiKey'),
    logLevel: read('logLevel'),
    url: read('url'),
    noColor: read('noColor') !== undefined,
    forceColor: (read('forceColor') ?? '0') !== '0',
    variables: { ...env },
  };
}
