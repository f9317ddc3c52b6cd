import { addAbortSignal, type Stream } from 'node:stream';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { JsonObject } from '../../core/json.js';
import { silentLogger, type Logger } from '../../core/logger.js';
import type { ModelProvider, ModelRequest } from '../../core/model.js';
import { abortable } from '../../core/time.js';
import { endEvent, noStream, streamText, type SilenceWatch } from '../exchange.js';
import { ModelFailure } from '../failure.js';
import type { OutputEvent } from '../retry.js';
import { ThoughtSplitter } from '../thoughts.js';
import { createVendorProvider, type VendorContext, type VendorOptions } from '../vendor.js';
import { toModelFailure } from './failure.js';
import type { AiSdkModel, PackageModel } from './language-model.js';
import { AiSdkOutputReader } from './output-reader.js';
import { findPackage, knownModel, loadModel, vendorOf, type KnownModel } from './package.js';
import { toCallOptions } from './request.js';
import { calls, watchedFetch, type WatchedCall } from './watched-fetch.js';

/** A model of a package that the operator installed. */
export interface AiSdkOptions extends VendorOptions, Omit<PackageModel, 'options'> {
  /** Settings for the package's function besides key, address and fetch. */
  readonly options?: JsonObject | undefined;
  readonly providerOptions?: JsonObject | undefined;
  /** The folders in which the package is looked for. */
  readonly folders: readonly string[];
}

/**
 * A model of a provider package of the AI SDK. The package is loaded at the first call. Throws `invalid-config` when it is
 * not installed, and like `createVendorProvider`.
 */
export function createAiSdkProvider(given: AiSdkOptions): ModelProvider {
  const { package: name, apiKey, baseUrl, fetch = globalThis.fetch } = given;
  const file = findPackage(name, given.folders);
  const options = {
    ...given.options,
    ...(apiKey !== undefined && { apiKey }),
    ...(baseUrl !== undefined && { baseURL: baseUrl }),
    fetch: watchedFetch(fetch),
  };
  // Of servers that share a package, the operator names each.
  const { name: ownName } = given.options ?? {};
  return providerOf(given, {
    name: typeof ownName === 'string' ? ownName : vendorOf(name),
    vendor: name,
    open: () => loadModel(file, { ...given, options }),
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
  const known = knownModel(model, 'The model');
  const { provider: vendor, modelId } = known;
  const [name = ''] = vendor.split('.', 1);
  const parts = { name, vendor, open: async () => known };
  return providerOf({ logger: silentLogger, ...options, model: modelId }, parts);
}

type Vendor = Parameters<typeof createVendorProvider<KnownModel>>[1];

function providerOf(
  options: VendorOptions & Pick<AiSdkOptions, 'providerOptions'>,
  parts: Pick<Vendor, 'name' | 'vendor' | 'open'>,
): ModelProvider {
  const { providerOptions } = options;
  return createVendorProvider(options, {
    ...{ ...parts, api: 'ai-sdk', ownUrl: undefined },
    keyVariable: "its package's own …_API_KEY",
    output: (request, context) => streamOutput(request, { ...context, providerOptions }),
  });
}

interface Context extends VendorContext<KnownModel>, Pick<AiSdkOptions, 'providerOptions'> {}

/** One attempt at an output. Throws `ModelFailure`. */
async function* streamOutput(request: ModelRequest, context: Context): AsyncGenerator<OutputEvent, void> {
  const { endpoint } = context;
  const { signal, maxTokens } = request;
  const [reader, splitter] = [new AiSdkOutputReader(), new ThoughtSplitter()];
  const call: WatchedCall = { endpoint, maxTokens };
  const output = { ...context, reader, splitter, signal, maxTokens };
  const ended = yield* streamText({
    ...output,
    events: (watch) => partsOf(request, { ...context, watch, call }),
    toFailure: (error) => toModelFailure(error, endpoint),
    notStreamed: () =>
      call.mediaType === 'application/json' ? noStream(call.mediaType, endpoint) : undefined,
  });
  yield endEvent(ended, output);
}

/** The parts of the stream of a call, which ends when the signal of the watch aborts. */
async function* partsOf(
  request: ModelRequest,
  { watch, call, ...context }: Context & { readonly watch: SilenceWatch; readonly call: WatchedCall },
): AsyncGenerator<LanguageModelV4StreamPart, void> {
  watch.rest();
  const model = await context.connect();
  const { specificationVersion: version } = model;
  if (context.tuning.effort && version !== 'v4') {
    const text = `${call.endpoint.place} takes no effort: its package implements version ${version} of the contract. Set providerOptions of the model instead, or install a newer version.`;
    throw new ModelFailure('rejected', text);
  }
  const options = { ...toCallOptions(request, { ...context, model }), abortSignal: watch.signal };
  call.onBytes = () => watch.renew();
  watch.wait();
  const opened = Promise.resolve(calls.run(call, () => model.doStream(options)));
  const { stream } = await abortable(opened, watch.signal);
  // Node takes a stream of the web too, against its types.
  addAbortSignal(watch.signal, stream as unknown as Stream);
  for await (const part of stream) {
    watch.rest();
    yield part;
    watch.wait();
  }
}
