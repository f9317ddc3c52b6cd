import { z } from 'zod';
import { count, httpUrl, path, seconds, secret, text, MIB } from './fields.js';

export const DEFAULT_OPENAI_EMBEDDING = 'text-embedding-3-small';
export const DEFAULT_VOYAGE_EMBEDDING = 'voyage-3.5';

export const embedding = z
  .strictObject({
    provider: z
      .enum(['none', 'openai', 'voyage', 'local'])
      .default('none')
      .describe(
        'Computes embeddings, so that texts are found by meaning. `none`: texts are found by their words only. `openai`: OpenAI or a compatible server. `voyage`: Voyage AI. `local`: a model in a folder of this machine.',
      ),
    model: text()
      .optional()
      .describe(
        `The embedding model. Default: \`${DEFAULT_OPENAI_EMBEDDING}\` for \`openai\`, \`${DEFAULT_VOYAGE_EMBEDDING}\` for \`voyage\`. After a change, run \`lango ingest --reembed\`.`,
      ),
    baseUrl: httpUrl()
      .optional()
      .describe(
        "The address of a compatible server, such as `http://127.0.0.1:11434/v1`. Default: the vendor's.",
      ),
    apiKey: secret('The API key. Default: the variable `OPENAI_API_KEY` or `VOYAGE_API_KEY`.'),
    dimension: count(100_000)
      .optional()
      .describe(
        'The number of dimensions of a vector, for models with a choice. Default: that of the model.',
      ),
    folder: path()
      .optional()
      .describe(
        'The folder of a model in ONNX format (config.json, tokenizer.json, onnx/). Default: none; `local` needs one.',
      ),
    precision: z
      .enum(['fp32', 'fp16', 'q8', 'q4'])
      .default('fp32')
      .describe('For `local`: the precision, which selects the file in `onnx/`.'),
    documentPrefix: z
      .string()
      .default('')
      .describe('For `local`: a prefix for each stored text, if the model needs one ("passage: ").'),
    queryPrefix: z
      .string()
      .default('')
      .describe('For `local`: a prefix for each query, if the model needs one ("query: ").'),
    maxRetries: z.int().min(0).max(20).default(3).describe('Retries after an overload or a lost connection.'),
    timeoutSeconds: seconds().default(60).describe('The longest time of one call.'),
  })
  .prefault({})
  .describe('Embeddings, for search by meaning.');

export const webSearch = z
  .strictObject({
    provider: z
      .enum(['none', 'searxng', 'brave'])
      .default('none')
      .describe(
        'The search service: a SearXNG server (which must allow the format `json`), or Brave. `none`: the tool is not offered.',
      ),
    baseUrl: httpUrl()
      .optional()
      .describe("The address of the service. Default: the vendor's; `searxng` needs one."),
    apiKey: secret('The API key. Default: none; `brave` needs one.'),
    timeoutSeconds: seconds().default(15).describe('The longest time of one search.'),
  })
  .prefault({})
  .describe('Web search.');

export const ingest = z
  .strictObject({
    maxFileBytes: count()
      .default(10 * MIB)
      .describe('The largest file that `lango ingest` accepts, in bytes.'),
  })
  .prefault({})
  .describe('Ingesting documents.');

const extraction = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe(
        'Let the model extract triples from saved knowledge, in the background. The offline model cannot do that: with it the graph has only the triples that agents add.',
      ),
    documents: z
      .boolean()
      .default(false)
      .describe('Also extract from ingested documents, with one model call per 8,000 characters or so.'),
    model: text().optional().describe('The model of `model.provider` to use. Default: `model.name`.'),
    maxCharacters: count()
      .default(24_000)
      .describe('The most characters that are read of one entry or document.'),
    callsPerHour: count().default(120).describe('The most model calls in any hour. The rest waits.'),
  })
  .prefault({})
  .describe('Triples extracted from saved text.');

export const graph = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Offer the tools of the knowledge graph.'),
    extraction,
  })
  .prefault({})
  .describe('The knowledge graph: triples with their sources, in the database.');

export const observationalMemory = z
  .strictObject({
    enabled: z
      .boolean()
      .default(false)
      .describe(
        'Record observations of conversations after their runs, and add them to the prompts of later runs. With a model, each recording costs a model call. The offline model uses plain rules.',
      ),
    model: text()
      .optional()
      .describe('The model of `model.provider` that observes and condenses. Default: `model.name`.'),
    observeTokens: count()
      .default(6_000)
      .describe('Observations are recorded once so many estimated tokens of a conversation have none yet.'),
    reflectTokens: count()
      .default(4_000)
      .describe('Observations are condensed into reflections from so many tokens on.'),
    promptTokens: count()
      .default(2_000)
      .describe('The most tokens of observations and reflections in one prompt.'),
  })
  .prefault({})
  .describe('Automatic memory: dated observations of conversations, condensed into reflections.');
