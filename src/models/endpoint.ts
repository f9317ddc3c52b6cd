import { LangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';

/** What a vendor's provider is made from. */
export interface VendorOptions {
  readonly model: string;
  /** Absent for servers that ask for none. */
  readonly apiKey?: string;
  /** The vendor's own address unless given. */
  readonly baseUrl?: string;
  /** Further attempts after an overload or a lost connection; 3 unless given. */
  readonly maxRetries?: number;
  /**
   * Longest silence of the server, before its answer and between two pieces of it; 5 minutes unless
   * given. Node's own `fetch` gives up after 5 minutes whatever is set here.
   */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
  readonly logger: Logger;
}

/** Where requests go, and the words in which a failure speaks of it. */
export interface Endpoint {
  /** "Anthropic at api.anthropic.com:443": how a sentence about it begins. */
  readonly place: string;
  readonly model: string;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  /** The environment variable that holds the key. */
  readonly keyVariable: string;
}

/** Throws `LangoError` `invalid-config` when the base URL is not one of http or https. */
export function openEndpoint({
  vendor,
  ...parts
}: Omit<Endpoint, 'place'> & { readonly vendor: string }): Endpoint {
  const url = URL.parse(parts.baseUrl);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new LangoError('invalid-config', 'The base URL of the model is not a web address.', {
      hint: 'Set model.baseUrl to something like http://127.0.0.1:11434/v1.',
    });
  }
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return { ...parts, place: `${vendor} at ${url.hostname}:${port}` };
}
