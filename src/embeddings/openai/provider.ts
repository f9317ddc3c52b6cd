import type { EmbeddingProvider } from '../../core/model.js';
import type { WireOptions } from '../wire.js';
import { requestVectors } from '../wire.js';

const BASE_URL = 'https://api.openai.com/v1';
const BATCH = 64;

/** OpenAI, and every server with its embeddings API: Ollama, vLLM, LM Studio, llama.cpp. */
export function createOpenaiEmbeddings(options: WireOptions): EmbeddingProvider {
  const { model, dimension, baseUrl = BASE_URL } = options;
  return {
    id: `openai/${model}${dimension === undefined ? '' : `/${dimension}`}`,
    batch: BATCH,
    embed: (texts, _purpose, signal) =>
      requestVectors(
        { ...options, baseUrl },
        {
          model,
          input: texts,
          encoding_format: 'float',
          ...(dimension === undefined ? {} : { dimensions: dimension }),
        },
        signal,
      ),
  };
}
