import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { isLangoError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { silentLogger, type Logger } from '../../core/logger.js';
import type { ModelProvider, ModelRequest } from '../../core/model.js';
import { abortable } from '../../core/time.js';
import { toAnswer } from '../ends.js';
import { CharacterJoiner, mostEvents, SilenceWatch, silenceFailure, toEvents, tooMuch } from '../exchange.js';
import { connectionFailure, ModelFailure, type Endpoint } from '../failure.js';
import type { OutputEvent } from '../retry.js';
import { ThoughtSplitter, withoutThoughts } from '../thoughts.js';
import { createVendorProvider, type VendorContext, type VendorOptions } from '../vendor.js';
import { toModelFailure } from './failure.js';
import { assertModel, type AiSdkModel } from './language-model.js';
import { AiSdkOutputReader } from './output-reader.js';
import { findPackage, loadModel, vendorOf } from './package.js';
import { toCallOptions, type KnownModel } from './request.js';
import { inCall, watchedFetch, type WatchedCall } from './watched-fetch.js';

/** A model of a package that the operator installed. */
export interface AiSdkOptions extends VendorOptions {
  readonly package: string;
  readonly factory?: string | undefined;
  /** What the package's function is given besides key, address and fetch. */
  readonly options?: JsonObject | undefined;
  readonly providerOptions?: JsonObject | undefined;
  /** The folders in which the package is looked for. */
  readonly folders: readonly string[];
}

/**
 * A model of a provider package of the AI SDK. The package is loaded at the first call. Throws `invalid-config` when it is
 * not installed, and like `createVendorProvider`.
 */
export function createAiSdkProvider(options: AiSdkOptions): ModelProvider {
  const { package: name, model, factory, apiKey, baseUrl, fetch = globalThis.fetch } = options;
  const file = findPackage(name, options.folders);
  const { name: ownName } = options.options ?? {};
  const settings = {
    ...options.options,
    ...(apiKey !== undefined && { apiKey }),
    ...(baseUrl !== undefined && { baseURL: baseUrl }),
    fetch: watchedFetch(fetch),
  };
  return createVendorProvider(options, {
    // Of servers that share a package, the operator names each.
    ...{ api: 'ai-sdk', ownUrl: undefined },
    ...{
      name: typeof ownName === 'string' ? ownName : vendorOf(name),
      vendor: name,
      baseUrl,
      keyVariable: "this package's own …_API_KEY",
    },
    open: (endpoint) => openModel(loadModel(file, { name, model, factory, options: settings }), endpoint),
    output: (request, context) =>
      streamOutput(request, { ...context, providerOptions: options.providerOptions }),
  });
}

/** Settings of a model that a program brings. */
export interface FromAiSdkOptions extends Pick<
  VendorOptions,
  'images' | 'maxRetries' | 'timeoutMs' | 'effort' | 'temperature'
> {
  /** Options for each call, by the names of providers: `{ google: { thinkingConfig: … } }`. */
  readonly providerOptions?: JsonObject;
  /** Default: no log. */
  readonly logger?: Logger;
}

/**
 * Makes a model of Lango of one of the AI SDK: `fromAiSdk(google('gemini-…'))`. Throws `invalid-config` for a model of a
 * version of the contract that is not known. The model sends its requests itself: give its provider a `fetch` to limit them.
 */
export function fromAiSdk(model: AiSdkModel, options: FromAiSdkOptions = {}): ModelProvider {
  assertModel(model, 'The model');
  const known = model as unknown as KnownModel;
  const { providerOptions, logger = silentLogger, ...others } = options;
  const [name = ''] = known.provider.split('.', 1);
  return createVendorProvider(
    { ...others, model: known.modelId, logger },
    {
      ...{ api: 'ai-sdk', ownUrl: undefined },
      ...{ name, vendor: known.provider, baseUrl: undefined, keyVariable: "its package's own …_API_KEY" },
      open: () => Promise.resolve(known),
      output: (request, context) => streamOutput(request, { ...context, providerOptions }),
    },
  );
}

async function openModel(model: Promise<KnownModel>, endpoint: Endpoint): Promise<KnownModel> {
  try {
    return await model;
  } catch (error) {
    if (!isLangoError(error)) throw toModelFailure(error, endpoint);
    throw new ModelFailure('rejected', [error.message, error.hint].filter(Boolean).join(' '));
  }
}

interface Context extends VendorContext<KnownModel> {
  readonly providerOptions?: JsonObject | undefined;
}

/** One attempt at an output. Throws `ModelFailure`. */
async function* streamOutput(request: ModelRequest, context: Context): AsyncGenerator<OutputEvent, void> {
  const { endpoint, silenceMs, tuning } = context;
  const model = await context.connect();
  if (tuning.effort && model.specificationVersion !== 'v4') throw effortFailure(model, endpoint);
  const reader = new AiSdkOutputReader(context.origin, endpoint);
  const splitter = new ThoughtSplitter();
  using watch = new SilenceWatch(request.signal, silenceMs);
  const call: WatchedCall = { endpoint, maxTokens: request.maxTokens, onBytes: () => watch.renew() };
  const options = { ...toCallOptions(request, { ...context, model }), abortSignal: watch.signal };
  try {
    const opened = Promise.resolve(inCall(call, () => model.doStream(options)));
    const { stream } = await abortable(opened, watch.signal);
    let left = mostEvents(request.maxTokens);
    const texts = new CharacterJoiner();
    for await (const part of partsOf(stream, watch, call)) {
      if (--left < 0) throw tooMuch(call);
      const text = texts.join(reader.accept(part), reader.isWhole);
      if (text) yield* toEvents(splitter.take(text));
      if (reader.isWhole) break;
    }
    watch.signal.throwIfAborted();
    if (!reader.isWhole) throw connectionFailure(undefined, endpoint);
    yield* toEvents(splitter.end());
  } catch (error) {
    const failure = watch.hasPassed
      ? silenceFailure({ endpoint, silenceMs })
      : (noStreamFailure(call) ?? toModelFailure(error, endpoint));
    failure.usage = reader.ended().usage;
    throw failure;
  }
  const ended = reader.ended();
  const content = withoutThoughts(ended.content, splitter.thoughts);
  const { maxTokens } = request;
  yield { type: 'end', answer: toAnswer({ ...ended, content }, { maxTokens, endpoint }) };
}

/** The parts of a stream, which ends when the signal of the watch aborts. */
async function* partsOf(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  watch: SilenceWatch,
  call: WatchedCall,
): AsyncGenerator<LanguageModelV4StreamPart, void> {
  const reader = stream.getReader();
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  watch.signal.addEventListener('abort', cancel, { once: true });
  try {
    for (;;) {
      watch.wait();
      const { done, value } = await inCall(call, () => reader.read());
      watch.rest();
      if (done) return;
      yield value;
    }
  } finally {
    cancel();
  }
}

/** A server that responds with JSON where a stream was asked for: packages find nothing in it. */
function noStreamFailure({ mediaType, endpoint: { place } }: WatchedCall): ModelFailure | undefined {
  if (mediaType !== 'application/json') return undefined;
  const text = `${place} responds with ${mediaType}, not with an event stream. Check model.baseUrl.`;
  return new ModelFailure('bad-answer', text);
}

function effortFailure({ specificationVersion }: KnownModel, { place }: Endpoint): ModelFailure {
  const text = `${place} takes no effort: its package implements version ${specificationVersion} of the contract. Set providerOptions of the model instead, or install a newer version.`;
  return new ModelFailure('rejected', text);
}
