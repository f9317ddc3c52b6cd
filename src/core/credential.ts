import type { CreateFetch } from './http.js';
import type { OAuth2Client } from './oauth2-fields.js';

/** The values of a credential, as a request carries them to its server. */
export interface Presented {
  /** Header names are in lower case. They are the metadata of a gRPC call too. */
  readonly headers: Readonly<Record<string, string>>;
  /** The name and value of a query parameter, which a gRPC call cannot carry. */
  readonly query?: readonly [string, string];
}

/** A kind of credential, as the security schemes of a card name it. */
export type CredentialKind =
  | { readonly type: 'bearer' | 'basic' | 'mtls' }
  | { readonly type: 'oauth2'; readonly scopes: readonly string[] }
  | { readonly type: 'apiKey'; readonly in: 'header' | 'query'; readonly name: string };

/** The credential for one server. Its users send the values to the origin of that server only. */
export interface PeerCredential {
  readonly kinds: readonly CredentialKind[];
  /** Resolves with current values. Concurrent calls share one request for them. */
  present(): Promise<Presented>;
  /** Call it when the server refused these values. Returns whether another attempt would present other values. */
  refused(shown: Presented): boolean;
  /** Masks the current and the previous values in a text from the server. */
  mask(text: string): string;
}

export interface LoadedValues {
  readonly shown: Presented;
  /** Seconds for which the values are valid. Undefined: until the server refuses them. */
  readonly seconds?: number | undefined;
}

/** Values are renewed this long before their end, or in the last fifth of a short life. */
const MAX_MARGIN_SECONDS = 60;
/** The pause after a failure, and the least time between two renewals that refusals cause. */
const PAUSE_MS = 5_000;

interface Held extends LoadedValues {
  readonly renewAt: number;
  readonly endsAt: number;
}

/** A credential that is renewed before it ends, and dropped when its server refuses it; at most once in five seconds. */
export class KeptCredential implements PeerCredential {
  readonly kinds: readonly CredentialKind[];
  readonly #load: () => Promise<LoadedValues>;
  #held: Held | undefined;
  #loading: Promise<Held> | undefined;
  #failure: { readonly error: unknown; readonly until: number } | undefined;
  #droppedAt = -Infinity;
  /** The current and the previous values. */
  #presented: readonly Presented[] = [];

  constructor(kinds: readonly CredentialKind[], load: () => Promise<LoadedValues>) {
    this.kinds = kinds;
    this.#load = load;
  }

  async present(): Promise<Presented> {
    const held = this.#held;
    if (held && performance.now() < held.renewAt) return held.shown;
    try {
      return (await this.#renew()).shown;
    } catch (error) {
      if (held && held === this.#held && performance.now() < held.endsAt) return held.shown;
      throw error;
    }
  }

  refused(shown: Presented): boolean {
    const held = this.#held;
    if (held?.shown !== shown) return true;
    if (held.seconds === undefined || performance.now() - this.#droppedAt < PAUSE_MS) return false;
    this.#droppedAt = performance.now();
    this.#held = undefined;
    return true;
  }

  mask(text: string): string {
    return this.#presented.reduce(withoutShown, text);
  }

  async #renew(): Promise<Held> {
    if (this.#failure && performance.now() < this.#failure.until) throw this.#failure.error;
    this.#loading ??= this.#loadOnce().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #loadOnce(): Promise<Held> {
    try {
      const loaded = await this.#load();
      const { seconds = Infinity } = loaded;
      const now = performance.now();
      const margin = Math.min(MAX_MARGIN_SECONDS, seconds / 5);
      const held = { ...loaded, renewAt: now + 1_000 * (seconds - margin), endsAt: now + 1_000 * seconds };
      this.#failure = undefined;
      this.#held = held;
      this.#presented = [held.shown, ...this.#presented.slice(0, 1)];
      return held;
    } catch (error) {
      this.#failure = { error, until: performance.now() + PAUSE_MS };
      throw error;
    }
  }
}

/** A bearer token that never changes; undefined without one. */
export function tokenCredential(token: string | undefined): PeerCredential | undefined {
  if (token === undefined) return undefined;
  const shown = { headers: { authorization: `Bearer ${token}` } };
  return new KeptCredential([{ type: 'bearer' }], async () => ({ shown }));
}

/** The shortest value that is masked: shorter ones could be ordinary words. */
const MIN_MASKED_LENGTH = 8;

function withoutShown(text: string, { headers, query }: Presented): string {
  const whole = Object.values(headers);
  const values = [...whole, ...whole.map((value) => value.split(' ').at(-1)!), query?.[1] ?? ''];
  return values
    .filter((value) => value.length >= MIN_MASKED_LENGTH)
    .reduce((rest, value) => rest.replaceAll(value, '***'), text);
}

/** The secret of one credential: at most one field is set. */
export type PeerSecrets = Readonly<
  Partial<Record<'bearer' | 'apiKey' | 'password' | 'clientSecret', string>>
>;

/** A client at an issuer of access tokens (OAuth 2.0). */
export interface OAuthClientOptions extends Omit<OAuth2Client, 'clientSecret'> {
  readonly clientSecret?: (() => Promise<string>) | undefined;
  readonly createFetch: CreateFetch;
  /** The time limit of a request. */
  readonly timeoutMs: number;
}

/** A token, and the header that shows it. */
export type AccessToken = LoadedValues & { readonly token: string };

/** Makes the function that asks for an access token by client credentials. */
export type CreateTokenRequest = (options: OAuthClientOptions) => () => Promise<AccessToken>;
