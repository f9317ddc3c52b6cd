import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, errorText, LangoError } from '../../../core/errors.js';
import type { EmbeddingProvider } from '../../../core/model.js';
import type { EmbeddingSettings } from '../settings.js';
import { minSimilarityOf, toUnitVectors } from './vectors.js';

/** The used part of the library; see https://huggingface.co/docs/transformers.js */
interface Transformers {
  readonly env: { allowRemoteModels: boolean; allowLocalModels: boolean; localModelPath: string };
  readonly pipeline: (task: 'feature-extraction', model: string, options: object) => Promise<Extractor>;
}

interface Extractor {
  (
    texts: readonly string[],
    options: { readonly pooling: 'mean'; readonly normalize: true },
  ): Promise<{ readonly tolist: () => readonly (readonly number[])[] }>;
  dispose(): Promise<unknown>;
}

/** Not a dependency of Lango. The name is a variable, so that no tool resolves it before it is needed. */
const LIBRARY = '@huggingface/transformers';
const BATCH = 16;
/** The file that the library reads for each precision. */
const MODEL_FILES: Readonly<Record<EmbeddingSettings['precision'], string>> = {
  fp32: 'onnx/model.onnx',
  fp16: 'onnx/model_fp16.onnx',
  q8: 'onnx/model_quantized.onnx',
  q4: 'onnx/model_q4.onnx',
};
/** Length of the content hash in the model id. */
const MARK_LENGTH = 12;

/** Runs a model of a folder in this process. Downloads nothing. Rejects with `invalid-config` for a missing part. */
export async function openLocalEmbeddings(options: EmbeddingSettings): Promise<EmbeddingProvider> {
  const { folder = '', precision, documentPrefix, queryPrefix } = options;
  const mark = await markOf(options);
  const extractor = await load(folder, precision);
  const prefixes = { document: documentPrefix, query: queryPrefix };
  return {
    id: `local/${path.basename(folder)}/${precision}/${mark}`,
    batch: BATCH,
    minSimilarity: options.minSimilarity ?? minSimilarityOf(path.basename(folder)),
    async embed(texts, { purpose, signal }) {
      signal.throwIfAborted();
      const prefixed = texts.map((text) => prefixes[purpose] + text);
      const tensor = await extractor(prefixed, { pooling: 'mean', normalize: true });
      return toUnitVectors(tensor.tolist());
    },
    async close() {
      await extractor.dispose();
    },
  };
}

/** Hashes what the vectors depend on: another model in the same folder gets another id. Rejects for a missing file. */
async function markOf({ folder = '', precision, documentPrefix }: EmbeddingSettings): Promise<string> {
  const hash = createHash('sha256').update(documentPrefix);
  try {
    for (const file of ['config.json', 'tokenizer.json'])
      hash.update(await readFile(path.join(folder, file)));
    hash.update(String((await stat(path.join(folder, MODEL_FILES[precision]))).size));
  } catch (error) {
    const { path: missing = folder } = error as NodeJS.ErrnoException;
    throw new LangoError('invalid-config', `${missing} cannot be read: it belongs to a model in ONNX form.`, {
      hint: `Set embedding.folder to a folder with config.json, tokenizer.json and ${MODEL_FILES[precision]} (embedding.precision).`,
      cause: error,
    });
  }
  return hash.digest('hex').slice(0, MARK_LENGTH);
}

async function load(folder: string, precision: EmbeddingSettings['precision']): Promise<Extractor> {
  const { env, pipeline } = await importLibrary();
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
  env.localModelPath = `${path.dirname(folder)}/`;
  try {
    const options = { dtype: precision, local_files_only: true };
    return await pipeline('feature-extraction', path.basename(folder), options);
  } catch (error) {
    throw new LangoError('invalid-config', `The model in ${folder} cannot be loaded: ${errorText(error)}`, {
      hint: 'Check embedding.folder and embedding.precision.',
      cause: error,
    });
  }
}

async function importLibrary(): Promise<Transformers> {
  try {
    return (await import(LIBRARY)) as Transformers;
  } catch (error) {
    const isMissing = codeOf(error) === 'ERR_MODULE_NOT_FOUND';
    const why = isMissing ? 'is not installed' : `cannot be loaded: ${errorText(error)}`;
    throw new LangoError('invalid-config', `The library ${LIBRARY} ${why}.`, {
      hint: `Install it beside lango: npm install ${LIBRARY}@4`,
      cause: error,
    });
  }
}
