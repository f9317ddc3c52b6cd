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

const VERSIONS = ['v4', 'v3', 'v2'];

/** Throws `invalid-config` for a value that is no model, or one of another version of the contract. */
export function assertModel(model: unknown, what: string): void {
  const { doStream, specificationVersion } = (model ?? {}) as Partial<AiSdkModel>;
  if (typeof doStream !== 'function')
    throw new LangoError('invalid-config', `${what} is not a language model of the AI SDK.`, {
      hint: 'Give one such as google("gemini-…"), made by a provider package.',
    });
  if (VERSIONS.includes(specificationVersion ?? '')) return;
  const text = `${what} implements version ${specificationVersion ?? 'v1'} of the contract of the AI SDK; this server knows ${VERSIONS.join(', ')}.`;
  throw new LangoError('invalid-config', text, { hint: 'Install a version of its package that fits.' });
}
