import type { LanguageModelV4 } from '@ai-sdk/provider';
import { LangoError } from '../../core/errors.js';

/**
 * A model of a provider package of the AI SDK, such as `google('gemini-…')`: its `LanguageModelV4`, `V3` or `V2`. Written
 * out, since programs without such a package have no types of it.
 */
export interface AiSdkModel {
  readonly specificationVersion: string;
  /** Such as "google.generative-ai". */
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

/** A model of a known version of the contract. What is read of their streams is the same in all. */
export type KnownModel = Pick<LanguageModelV4, 'doStream'> & Omit<AiSdkModel, 'doStream'>;

const VERSIONS = ['v4', 'v3', 'v2'];

/** Throws `invalid-config` for a value that is no model, or one of another version of the contract. */
export function knownModel(model: unknown, what: string): KnownModel {
  const { doStream, specificationVersion = 'v1' } = (model ?? {}) as Partial<AiSdkModel>;
  if (typeof doStream !== 'function')
    throw new LangoError('invalid-config', `${what} is not a language model of the AI SDK.`, {
      hint: 'Give one such as google("gemini-…"), made by a provider package.',
    });
  if (VERSIONS.includes(specificationVersion)) return model as KnownModel;
  const text = `${what} implements version ${specificationVersion} of the contract of the AI SDK; this server knows ${VERSIONS.join(', ')}.`;
  throw new LangoError('invalid-config', text, { hint: 'Install a version of its package that fits.' });
}
