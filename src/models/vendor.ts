import { createHash } from 'node:crypto';
import { LangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import { textPart } from '../core/message.js';
import type { ModelProvider, ModelRequest } from '../core/model.js';
import { defined } from '../core/json.js';
import { LONGEST_TIMER_MS } from '../core/time.js';
import { Adjustments, withoutOwnBlocks, type Change } from './adjustments.js';
import { responseFailure, type Endpoint } from './failure.js';
import { streamCall, type OutputEvent } from './retry.js';

/** Settings of the model's thinking and sampling. An omitted setting has the model's own default. */
export interface Tuning {
  readonly effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined;
  readonly thinking?: 'adaptive' | 'off' | number | undefined; // A number sets the most tokens of thinking.
  readonly temperature?: number | undefined;
}

export interface VendorOptions extends Tuning {
  readonly model: string;
  /** Absent for servers that need no key. */
  readonly apiKey?: string | undefined;
  /** Default: the vendor's address. */
  readonly baseUrl?: string | undefined;
  /** Whether the model reads images. Default: true. */
  readonly images?: boolean;
  /** The most tokens of a request and its output. Default: not known. */
  readonly windowTokens?: number | undefined;
  /** Further attempts after an overload or a lost connection. Default: 10. */
  readonly maxRetries?: number;
  /** The longest silence of the server. Default: 5 minutes, after which Node's own `fetch` gives up in any case. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
  readonly logger: Logger;
}

/** Throws `LangoError` `invalid-config` when the base URL is not one of http or https. */
function openEndpoint(
  { model, apiKey, baseUrl }: Pick<VendorOptions, 'model' | 'apiKey' | 'baseUrl'>,
  { vendor, keyVariable }: Pick<Vendor<never>, 'vendor' | 'keyVariable'>,
): Endpoint {
  const parts = { model, apiKey, keyVariable };
  if (baseUrl === undefined) return { ...parts, baseUrl: '', place: vendor };
  const url = URL.parse(baseUrl);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new LangoError('invalid-config', 'The base URL of the model is not an http or https address.', {
      hint: 'Set model.baseUrl to an address such as http://127.0.0.1:11434/v1.',
    });
  }
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return { ...parts, baseUrl, place: `${vendor} at ${url.hostname}:${port}` };
}

/** The settings that all SDKs share, from the options alone: nothing in the environment redirects a request or its key. */
export function sdkSettings({ fetch }: VendorOptions, endpoint: Endpoint) {
  const url = new URL(endpoint.baseUrl);
  // The query of an address, such as the key of a gateway, goes behind the path of each request.
  const defaultQuery = Object.fromEntries(url.searchParams);
  url.search = '';
  return {
    ...{ baseURL: url.href, defaultQuery },
    maxRetries: 0,
    // SilenceWatch sets the deadlines.
    timeout: LONGEST_TIMER_MS,
    logLevel: 'off',
    // A redirect would carry the conversation and the key to another host.
    fetchOptions: { redirect: 'manual' },
    fetch: refusingFetch(fetch ?? globalThis.fetch, endpoint),
  } as const;
}

/** Rejects with a `ModelFailure` for a response that is an error: the SDKs keep only a part of its body. */
function refusingFetch(send: typeof fetch, endpoint: Endpoint): typeof fetch {
  return async (...request) => {
    const response = await send(...request);
    if (response.ok) return response;
    throw responseFailure(response, await response.text(), endpoint);
  };
}

const DEFAULT_MAX_RETRIES = 10;
const DEFAULT_SILENCE_MS = 300_000;

/** The parts of a provider that differ from vendor to vendor. */
interface Vendor<Client> extends Pick<Endpoint, 'keyVariable'> {
  /** The name in error messages: "Anthropic". */
  readonly vendor: string;
  /** The first part of the provider's id: "anthropic". The name of the model follows it. */
  readonly name: string;
  readonly api: 'messages' | 'responses' | 'chat' | 'ai-sdk';
  /** The vendor's own address; undefined where only a package knows it. */
  readonly ownUrl: string | undefined;
  /** Loads the vendor's SDK; called at the first request. */
  readonly open: (endpoint: Endpoint) => Promise<Client>;
  /** One attempt at an output. */
  readonly output: (request: ModelRequest, context: VendorContext<Client>) => AsyncIterable<OutputEvent>;
}

/** The data in the body of a request besides the request itself. */
export interface BodyContext {
  /** The name of this model at this server in opaque blocks, which go back to nobody else. */
  readonly origin: string;
  readonly endpoint: Pick<Endpoint, 'model' | 'baseUrl'>;
  readonly tuning: Tuning;
  /** The parts of requests that the server refuses. */
  readonly adjusted: Pick<Adjustments, 'has'>;
}

export interface VendorContext<Client> extends BodyContext {
  readonly endpoint: Endpoint;
  readonly silenceMs: number;
  connect(): Promise<Client>;
}

/** The origin of the opaque blocks of a model. Other addresses are hashed, because they may hold a key. */
export function originOf(
  id: string,
  { api, baseUrl, ownUrl }: Pick<Vendor<never>, 'api' | 'ownUrl'> & Pick<Endpoint, 'baseUrl'>,
): string {
  const isVendorsOwn = api === 'messages' || api === 'responses';
  if (isVendorsOwn && baseUrl === ownUrl) return id;
  return `${id}#${createHash('sha256').update(`${api} ${baseUrl}`).digest('base64url').slice(0, 9)}`;
}

/** The most changes that one call makes to its request. */
const MOST_CHANGES = 12;

/** A change of one call only. */
const OWN_BLOCKS: Change = { part: 'its own blocks', undo: () => {} };

/** Creates a provider that retries failed calls. Throws `LangoError` `invalid-config` when `baseUrl` is not an HTTP or HTTPS URL. */
export function createVendorProvider<Client>(
  { timeoutMs, maxRetries, images = true, windowTokens, logger, ...given }: VendorOptions,
  vendor: Vendor<Client>,
): ModelProvider {
  const { model, apiKey, baseUrl = vendor.ownUrl, ...tuning } = given;
  const id = `${vendor.name}/${model}`;
  const endpoint = openEndpoint({ model, apiKey, baseUrl }, vendor);
  let client: Promise<Client> | undefined;
  const adjusted = new Adjustments(id, endpoint.baseUrl);
  const context: VendorContext<Client> = {
    ...{ endpoint, tuning, adjusted },
    origin: originOf(id, { ...vendor, ...endpoint }),
    silenceMs: timeoutMs ?? DEFAULT_SILENCE_MS,
    connect: () => (client ??= vendor.open(endpoint)),
  };
  return {
    id,
    readsImages: images,
    ...defined({ windowTokens }),
    stream(request) {
      let isBare = false;
      let left = MOST_CHANGES;
      let sentAfter = 0;
      const made: Change[] = [];
      const fit = (): ModelRequest => adjusted.fit(isBare ? withoutOwnBlocks(request) : request);
      return streamCall({
        ...request,
        attempt(note) {
          sentAfter = adjusted.changes;
          return vendor.output(withNote(fit(), note), { ...context, tuning: fitTuning(tuning, adjusted) });
        },
        adjust(failure) {
          if (failure.details.refused === undefined || --left < 0) return false;
          // Another call has learned something meanwhile.
          if (adjusted.changes > sentAfter) return true;
          const isNewlyBare = !isBare && adjusted.refusesOwnBlocks(failure);
          isBare ||= isNewlyBare;
          const change = isNewlyBare ? OWN_BLOCKS : adjusted.learn(failure, { request: fit(), tuning });
          // A change that did not help is no rule for the calls of others.
          if (!change) for (const one of made.reverse()) one.undo();
          else made.push(change);
          if (change)
            logger.info('a model server refuses a part of requests, which is left out', {
              ...{ model: id, part: change.part, reason: failure.message },
            });
          return change !== undefined;
        },
        maxRetries: maxRetries ?? DEFAULT_MAX_RETRIES,
        logger,
      });
    },
  };
}

/** Adds a note for the model at the end, where it leaves the cached prefix as it is. */
function withNote(request: ModelRequest, note: string | undefined): ModelRequest {
  if (note === undefined) return request;
  return { ...request, messages: [...request.messages, { role: 'user', parts: [textPart(note)] }] };
}

function fitTuning(tuning: Tuning, adjusted: Pick<Adjustments, 'has'>): Tuning {
  const refused = (['effort', 'thinking', 'temperature'] as const).filter((name) => adjusted.has(name));
  return { ...tuning, ...Object.fromEntries(refused.map((name) => [name, undefined])) };
}
