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
        'Who turns texts into vectors, so that they are found by meaning. `none`: everything is found by words. `openai`: it, or any server that speaks its API. `local`: a model in a folder of this machine.',
      ),
    model: text()
      .optional()
      .describe(
        `Which model. Default: \`${DEFAULT_OPENAI_EMBEDDING}\` for \`openai\`, \`${DEFAULT_VOYAGE_EMBEDDING}\` for \`voyage\`. After a change: \`lango ingest --reembed\`.`,
      ),
    baseUrl: httpUrl()
      .optional()
      .describe(
        "Address of a compatible server, such as `http://127.0.0.1:11434/v1`. Default: the vendor's.",
      ),
    apiKey: secret('The key. Default: the variable `OPENAI_API_KEY` or `VOYAGE_API_KEY`.'),
    dimension: count(100_000)
      .optional()
      .describe(
        'How many numbers a vector has, for models that let one choose. Default: what the model gives.',
      ),
    folder: path()
      .optional()
      .describe(
        'The folder of a model in ONNX form (config.json, tokenizer.json, onnx/). Default: none; `local` needs one.',
      ),
    precision: z
      .enum(['fp32', 'fp16', 'q8', 'q4'])
      .default('fp32')
      .describe('For `local`: which of the files in `onnx/` is used.'),
    documentPrefix: z
      .string()
      .default('')
      .describe(
        'For `local`: put before each kept text; the model\'s page says if it wants one ("passage: ").',
      ),
    queryPrefix: z.string().default('').describe('For `local`: put before each question ("query: ").'),
    maxRetries: z
      .int()
      .min(0)
      .max(20)
      .default(3)
      .describe('Further attempts after an overload or a lost connection.'),
    timeoutSeconds: seconds().default(60).describe('Longest time of one call.'),
  })
  .prefault({})
  .describe('Finding by meaning.');

export const webSearch = z
  .strictObject({
    provider: z
      .enum(['none', 'searxng', 'brave'])
      .default('none')
      .describe(
        'Who searches the web: a SearXNG server (which must allow the format `json`), or Brave. `none`: no tool.',
      ),
    baseUrl: httpUrl()
      .optional()
      .describe("Address of the service. Default: the vendor's; `searxng` needs one."),
    apiKey: secret('The key. Default: none; `brave` needs one.'),
    timeoutSeconds: seconds().default(15).describe('Longest time of one search.'),
  })
  .prefault({})
  .describe('Searching the web.');

export const ingest = z
  .strictObject({
    maxFileBytes: count()
      .default(10 * MIB)
      .describe('Size of a file that `lango ingest` takes.'),
  })
  .prefault({})
  .describe('Documents that are taken in to be found.');

export const knowledgeTools = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Offer the tools that keep knowledge and learnings.'),
    maxCharacters: count(1_000_000).default(50_000).describe('Length of one entry.'),
  })
  .prefault({})
  .describe('Keeping knowledge and learnings.');

export const searchTools = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe('Offer the tools that search knowledge, learnings and documents.'),
  })
  .prefault({})
  .describe('Finding what is kept.');
