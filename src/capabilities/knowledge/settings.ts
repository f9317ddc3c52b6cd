import { z } from 'zod';
import type { RuleResult, SettingsRule } from '../../core/capability.js';
import {
  MIB,
  choice,
  count,
  flag,
  group,
  httpUrl,
  optional,
  path,
  seconds,
  secret,
  switchOf,
  text,
} from '../../core/fields.js';
import { finding } from '../../core/findings.js';

/** The embedding model of each provider, without `embedding.model`. */
export const DEFAULT_MODELS = {
  none: undefined,
  local: undefined,
  openai: 'text-embedding-3-small',
  voyage: 'voyage-3.5',
} as const;

const prefix = (each: string, example: string) =>
  z
    .string()
    .default('')
    .describe(`For \`local\`: a prefix for each ${each}, if the model needs one ("${example}").`);

const embedding = group('Embeddings, for search by meaning.', {
  provider: choice(
    ['none', 'openai', 'voyage', 'local'],
    'none',
    'Computes embeddings, so that texts are found by meaning. `none`: texts are found by their words only. `openai`: OpenAI or a compatible server. `voyage`: Voyage AI. `local`: a model in a folder of this machine.',
  ),
  model: optional(
    text(),
    `The embedding model. Default: \`${DEFAULT_MODELS.openai}\` for \`openai\`, \`${DEFAULT_MODELS.voyage}\` for \`voyage\`. After a change, run \`lango ingest --reembed\`.`,
  ),
  baseUrl: optional(
    httpUrl(),
    "The address of a compatible server, such as `http://127.0.0.1:11434/v1`. Default: the vendor's.",
  ),
  apiKey: secret('The API key. Default: the variable `OPENAI_API_KEY` or `VOYAGE_API_KEY`.'),
  dimension: optional(
    z.int().min(1).max(100_000),
    'The number of dimensions of a vector, for models with a choice. Default: that of the model.',
  ),
  folder: optional(
    path(),
    'The folder of a model in ONNX format (config.json, tokenizer.json, onnx/). Default: none; `local` needs one.',
  ),
  precision: choice(
    ['fp32', 'fp16', 'q8', 'q4'],
    'fp32',
    'For `local`: the precision, which selects the file in `onnx/`.',
  ),
  documentPrefix: prefix('stored text', 'passage: '),
  queryPrefix: prefix('query', 'query: '),
  minSimilarity: optional(
    z.number().min(-1).max(1),
    'The minimum similarity (cosine) of a text that is found by its meaning. A text below it is returned only if its words match. Default: by the model, such as 0.2 for `text-embedding-3-small` and 0.76 for E5. -1 returns the nearest texts, however far they are.',
  ),
  maxRetries: count(3, 'Retries after an overload or a lost connection.', { min: 0, max: 20 }),
  timeoutSeconds: seconds(60, 'The longest time of one call.'),
});

export type EmbeddingSettings = z.output<typeof embedding>;

const webSearch = group('Web search.', {
  provider: choice(
    ['none', 'searxng', 'brave'],
    'none',
    'The search service: a SearXNG server (which must allow the format `json`), or Brave. `none`: the tool is not offered.',
  ),
  baseUrl: optional(httpUrl(), "The address of the service. Default: the vendor's; `searxng` needs one."),
  apiKey: secret('The API key. Default: none; `brave` needs one.'),
  timeoutSeconds: seconds(15, 'The longest time of one search.'),
});

const ingest = group('Ingesting documents.', {
  maxFileBytes: count(10 * MIB, 'The largest file that `lango ingest` accepts, in bytes.'),
});

const extraction = group('Triples extracted from saved text.', {
  enabled: flag(
    true,
    'Let the model extract triples from saved knowledge, in the background. The offline model cannot do that: with it the graph has only the triples that agents add.',
  ),
  documents: flag(
    false,
    'Also extract from ingested documents, with one model call per 8,000 characters or so.',
  ),
  model: optional(text(), 'The model of `model.provider` to use. Default: `model.name`.'),
  maxCharacters: count(24_000, 'The most characters that are read of one entry or document.'),
  callsPerHour: count(120, 'The most model calls in any hour. The rest waits.'),
});

const graph = group('The knowledge graph: triples with their sources, in the database.', {
  enabled: flag(true, 'Offer the tools of the knowledge graph.'),
  extraction,
});

const knowledgeTools = group('Saving knowledge and learnings.', {
  enabled: flag(true, 'Offer the tools that save knowledge and learnings.'),
  maxCharacters: count(50_000, 'The longest entry, in characters.', { max: 1_000_000 }),
});

const memoryTools = group('Facts that a user wants remembered.', {
  enabled: flag(true, 'Offer the tools that save facts, and add matching facts to prompts.'),
  promptTokens: count(500, 'The most estimated tokens of facts that one prompt gets.'),
});

export const KNOWLEDGE_SETTINGS = {
  'tools.knowledge': knowledgeTools,
  'tools.search': switchOf(
    'Searching what was saved.',
    'Offer the tools that search knowledge, learnings and documents.',
  ),
  'tools.memory': memoryTools,
  graph,
  embedding,
  ingest,
  webSearch,
};

export const KNOWLEDGE_RULES: readonly SettingsRule<typeof KNOWLEDGE_SETTINGS>[] = [
  {
    keys: ['embedding.provider', 'embedding.apiKey', 'embedding.baseUrl', 'embedding.folder'],
    isForServersOnly: true,
    check({ embedding: { provider, apiKey, baseUrl, folder } }) {
      let need: string | undefined;
      if (provider === 'local' && folder === undefined) need = 'needs a model: set embedding.folder';
      if (provider === 'voyage' && apiKey === undefined)
        need = 'needs a key: set embedding.apiKey or VOYAGE_API_KEY';
      if (provider === 'openai' && apiKey === undefined && baseUrl === undefined)
        need = 'needs a key or another server: set embedding.apiKey, OPENAI_API_KEY or embedding.baseUrl';
      return providerResult('embedding', { need, apiKey, baseUrl });
    },
  },
  {
    keys: ['webSearch.provider', 'webSearch.apiKey', 'webSearch.baseUrl'],
    isForServersOnly: true,
    check({ webSearch: { provider, apiKey, baseUrl } }) {
      let need: string | undefined;
      if (provider === 'searxng' && baseUrl === undefined) need = 'needs an address: set webSearch.baseUrl';
      if (provider === 'brave' && apiKey === undefined) need = 'needs a key: set webSearch.apiKey';
      return providerResult('webSearch', { need, apiKey, baseUrl });
    },
  },
];

/** `need` says what the provider lacks. Its key is sent to its address. */
function providerResult(
  group: string,
  { need, apiKey, baseUrl }: Readonly<Record<'need' | 'apiKey' | 'baseUrl', string | undefined>>,
): RuleResult {
  return {
    findings: need === undefined ? [] : finding([group, 'provider'], need),
    sent: apiKey === undefined ? [] : [{ path: [group, 'baseUrl'], url: baseUrl }],
  };
}
