import type { EmbeddingProvider } from '../../core/model.js';
import type { WireOptions } from '../wire.js';
import { requestVectors } from '../wire.js';

const BASE_URL = 'https://api.voyageai.com/v1';
const BATCH = 64;

/** Voyage AI, which computes different vectors for queries and for documents. */
export function createVoyageEmbeddings(options: WireOptions): EmbeddingProvider {
  const { model, dimension, baseUrl = BASE_URL } = options;
  return {
    id: `voyage/${model}${dimension === undefined ? '' : `/${dimension}`}`,
    batch: BATCH,
    embed: (texts, purpose, signal) =>
      requestVectors(
        { ...options, baseUrl },
        {
          model,
          input: texts,
          input_type: purpose,
          truncation: true,
          ...(dimension === undefined ? {} : { output_dimension: dimension }),
        },
        signal,
      ),
  };
}
