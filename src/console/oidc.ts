import type { Configuration } from 'openid-client';
import { LangoError, errorText, loadPackage } from '../core/errors.js';

export interface OidcOptions {
  readonly issuer: string;
  /** The id of a public client at the issuer: one without a secret, for the code flow with PKCE. */
  readonly clientId: string;
  readonly scope: string;
  readonly fetch: typeof fetch;
}

/** Maximum time that a person may take to sign in at the issuer. */
export const FLOW_SECONDS = 600;

const load = () => loadPackage('openid-client', () => import('openid-client'));

/** Signs people in at an OpenID issuer by the code flow with PKCE. The state of a sign-in is in a cookie of the browser. */
export class OidcSignIn {
  readonly #options: OidcOptions;
  #issuer: Promise<Configuration> | undefined;

  constructor(options: OidcOptions) {
    this.#options = options;
  }

  /** Begins a sign-in on a page. Resolves with the issuer's URL for the browser, and the flow that `finish` needs. */
  async begin(callback: string, page: string): Promise<{ readonly url: string; readonly flow: string }> {
    const client = await load();
    const issuer = await this.#discover();
    const state = client.randomState();
    const verifier = client.randomPKCECodeVerifier();
    const url = client.buildAuthorizationUrl(issuer, {
      redirect_uri: callback,
      scope: this.#options.scope,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
    });
    return { url: url.href, flow: `${state}.${verifier}.${page}` };
  }

  /** Resolves with the Authorization header of the signed-in person, and the page. Rejects with `unauthenticated`. */
  async finish(address: URL, flow: string): Promise<readonly [authorization: string, page: string]> {
    const [state, verifier, page] = flow.split('.');
    if (!state || !verifier || !page || address.searchParams.get('state') !== state) {
      throw new LangoError('unauthenticated', 'This sign-in has expired or was begun in another browser.', {
        hint: 'Open the console and sign in again.',
      });
    }
    const client = await load();
    try {
      const checks = { pkceCodeVerifier: verifier, expectedState: state };
      const tokens = await client.authorizationCodeGrant(await this.#discover(), address, checks);
      return [`Bearer ${tokens.access_token}`, page];
    } catch (cause) {
      const message = `The issuer did not sign you in: ${errorText(cause)}`;
      throw new LangoError('unauthenticated', message, { cause });
    }
  }

  #discover(): Promise<Configuration> {
    this.#issuer ??= this.#read().catch((error: unknown) => {
      this.#issuer = undefined;
      throw error;
    });
    return this.#issuer;
  }

  async #read(): Promise<Configuration> {
    const { discovery, None, allowInsecureRequests, customFetch } = await load();
    const { issuer, clientId } = this.#options;
    return discovery(new URL(issuer), clientId, undefined, None(), {
      [customFetch]: (url: string, init: unknown) => this.#options.fetch(url, init as RequestInit),
      ...(issuer.startsWith('http:') && { execute: [allowInsecureRequests] }),
    });
  }
}
