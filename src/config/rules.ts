import { isAbsolute, relative } from 'node:path';
import { checkJwt, checkMtls, checkOpenServer, checkTls } from './auth-rules.js';
import type { Finding } from './issues.js';
import { finding } from './issues.js';
import type { Places } from './paths.js';
import type { Path } from './problem.js';
import type { Settings } from './schema.js';

/** What must hold between keys. Paths are resolved. */
interface Rule {
  /** The keys it looks at: skipped when one of them is wrong by itself. */
  readonly keys: readonly string[];
  check(settings: Settings, places: Places): readonly Finding[];
}

export const RULES: readonly Rule[] = [
  { keys: ['auth.mode', 'server.host'], check: checkOpenServer },
  { keys: ['auth.mode', 'auth.jwt'], check: checkJwt },
  { keys: ['auth.mode', 'server.tls'], check: checkMtls },
  { keys: ['server.tls'], check: checkTls },
  { keys: ['model.provider', 'model.apiKey', 'model.baseUrl'], check: checkModelKey },
  { keys: ['model.provider', 'model.name'], check: checkModelName },
  {
    keys: ['embedding.provider', 'embedding.apiKey', 'embedding.baseUrl', 'embedding.folder'],
    check: checkEmbedding,
  },
  { keys: ['webSearch.provider', 'webSearch.apiKey', 'webSearch.baseUrl'], check: checkWebSearch },
  { keys: ['agent.roster', 'agent.ownAgents', 'a2a.remoteAgents'], check: checkAgentNames },
  { keys: ['workspace', 'storage.sqlite.file', 'vault.keyFile'], check: checkWorkspace },
];

function checkModelKey({ model }: Settings): readonly Finding[] {
  if (model.apiKey !== undefined) return [];
  if (model.provider === 'anthropic') {
    return finding(['model', 'provider'], 'needs a key: set model.apiKey or ANTHROPIC_API_KEY');
  }
  if (model.provider === 'openai' && model.baseUrl === undefined) {
    return finding(
      ['model', 'provider'],
      'needs a key or another server: set model.apiKey, OPENAI_API_KEY or model.baseUrl',
    );
  }
  return [];
}

function checkModelName({ model }: Settings): readonly Finding[] {
  if (model.provider !== 'openai' || model.name !== undefined) return [];
  return finding(['model', 'provider'], 'needs to know which model to ask: set model.name');
}

function checkEmbedding({ embedding }: Settings): readonly Finding[] {
  const { provider, apiKey, baseUrl, folder } = embedding;
  const key: Path = ['embedding', 'provider'];
  if (provider === 'local' && folder === undefined) {
    return finding(key, 'needs a model: set embedding.folder');
  }
  if (provider === 'voyage' && apiKey === undefined) {
    return finding(key, 'needs a key: set embedding.apiKey or VOYAGE_API_KEY');
  }
  if (provider === 'openai' && apiKey === undefined && baseUrl === undefined) {
    return finding(
      key,
      'needs a key or another server: set embedding.apiKey, OPENAI_API_KEY or embedding.baseUrl',
    );
  }
  return [];
}

function checkWebSearch({ webSearch }: Settings): readonly Finding[] {
  const { provider, apiKey, baseUrl } = webSearch;
  const key: Path = ['webSearch', 'provider'];
  if (provider === 'searxng' && baseUrl === undefined) {
    return finding(key, 'needs an address: set webSearch.baseUrl');
  }
  if (provider === 'brave' && apiKey === undefined) return finding(key, 'needs a key: set webSearch.apiKey');
  return [];
}

function checkAgentNames({ agent, a2a }: Settings): readonly Finding[] {
  const listed = typeof agent.roster === 'string' ? [] : agent.roster;
  const local = new Set([...listed, ...agent.ownAgents].map(({ name }) => name));
  return a2a.remoteAgents.flatMap(({ name }, index) =>
    local.has(name) ? finding(['a2a', 'remoteAgents', index, 'name'], 'is the name of a local agent') : [],
  );
}

/** An agent that could write these files could give itself any right. */
function checkWorkspace({ workspace, storage, vault }: Settings, places: Places): readonly Finding[] {
  const guarded = [
    { file: places.home, what: 'the data folder' },
    { file: storage.sqlite.file, what: 'the database' },
    { file: vault.keyFile, what: 'the key file of the vault' },
    { file: places.configFile, what: 'the configuration file' },
  ];
  return workspace.flatMap((folder, index) => {
    const exposed = guarded.find(({ file }) => file !== undefined && isInside(file, folder));
    if (exposed === undefined) return [];
    return finding(['workspace', index], `must not contain ${exposed.what}: agents could change it`);
  });
}

function isInside(file: string, folder: string): boolean {
  const way = relative(folder, file);
  return isAbsolute(file) && !isAbsolute(way) && way !== '..' && !way.startsWith('../');
}
