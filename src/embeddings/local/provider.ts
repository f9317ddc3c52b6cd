import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { EmbeddingProvider } from '../../core/embedding.js';
import { errorText, LangoError } from '../../core/errors.js';
import { toUnitVectors } from '../vectors.js';

export interface LocalOptions {
  /** A model in ONNX form: config.json, tokenizer.json, onnx/model.onnx or another of its files. Absolute. */
  readonly folder: string;
  /** Which of the files of `onnx/`: fp32 is model.onnx, q8 is model_quantized.onnx. */
  readonly precision: 'fp32' | 'fp16' | 'q8' | 'q4';
  /** Put before each text; some models ask for it. */
  readonly documentPrefix: string;
  readonly queryPrefix: string;
}

/** What we use of the library; see https://huggingface.co/docs/transformers.js */
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

/** Not installed with Lango; a variable, so that nothing looks for it before it is wanted. */
const LIBRARY = '@huggingface/transformers';
const BATCH = 16;

/**
 * A model in a folder of this machine, run in this process. Nothing is downloaded. Rejects with `invalid-config` when the
 * folder or the library is missing.
 */
export async function openLocalEmbeddings(options: LocalOptions): Promise<EmbeddingProvider> {
  const { folder, precision, documentPrefix, queryPrefix } = options;
  await assertModel(folder);
  const extractor = await load(folder, precision);
  const prefixes = { document: documentPrefix, query: queryPrefix };
  return {
    id: `local/${path.basename(folder)}/${precision}${documentPrefix === '' ? '' : `/${documentPrefix.trim()}`}`,
    batch: BATCH,
    async embed(texts, purpose, signal) {
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

async function assertModel(folder: string): Promise<void> {
  for (const file of ['config.json', 'tokenizer.json']) {
    if (await stat(path.join(folder, file)).catch(() => undefined)) continue;
    throw new LangoError('invalid-config', `There is no ${file} in the model folder ${folder}.`, {
      hint: 'Set embedding.folder to a folder with a model in ONNX form: config.json, tokenizer.json, onnx/.',
    });
  }
}

async function load(folder: string, precision: LocalOptions['precision']): Promise<Extractor> {
  const { env, pipeline } = await importLibrary();
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
  env.localModelPath = `${path.dirname(folder)}/`;
  try {
    return await pipeline('feature-extraction', path.basename(folder), {
      dtype: precision,
      local_files_only: true,
    });
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
    throw new LangoError('invalid-config', `The library ${LIBRARY} is not installed.`, {
      hint: `Install it beside lango: npm install ${LIBRARY}`,
      cause: error,
    });
  }
}
