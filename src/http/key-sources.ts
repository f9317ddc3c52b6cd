import { readFile } from 'node:fs/promises';
import { LangoError, errorText } from '../core/errors.js';

const DISCOVERY_PATH = '/.well-known/openid-configuration';

/** A key set at an address. */
export function keysFromUrl(url: string, get: typeof fetch): () => Promise<unknown> {
  return () => readJson(url, get);
}

/** A key set in a file, read again each time. */
export function keysFromFile(file: string): () => Promise<unknown> {
  return async () => {
    try {
      return JSON.parse(await readFile(file, 'utf8')) as unknown;
    } catch (error) {
      throw new LangoError('invalid-config', `The key file ${file} cannot be read: ${errorText(error)}`);
    }
  };
}

/** A key set where the issuer says that it is (OpenID Connect Discovery 1.0 section 4). */
export function keysFromIssuer(issuer: string, get: typeof fetch): () => Promise<unknown> {
  return async () => {
    const facts = (await readJson(discoveryUrl(issuer), get)) as {
      issuer?: unknown;
      jwks_uri?: unknown;
    } | null;
    if (facts?.issuer !== issuer) {
      throw new LangoError('unavailable', `${issuer} describes itself as another issuer.`);
    }
    const address = typeof facts.jwks_uri === 'string' ? URL.parse(facts.jwks_uri) : null;
    // Keys that come in the clear are anybody's; a test issuer without TLS has its own beside it.
    if (!address || (address.protocol !== 'https:' && address.origin !== new URL(issuer).origin)) {
      throw new LangoError('unavailable', `${issuer} names no safe address of its keys.`);
    }
    return readJson(address.href, get);
  };
}

export function discoveryUrl(issuer: string): string {
  return issuer.replace(/\/+$/, '') + DISCOVERY_PATH;
}

async function readJson(url: string, get: typeof fetch): Promise<unknown> {
  const response = await get(url, { headers: { accept: 'application/json' } });
  if (!response.ok) {
    await response.body?.cancel();
    throw new LangoError('unavailable', `${url} answered ${response.status}.`);
  }
  return response.json();
}
