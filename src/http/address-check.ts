import { lookup } from 'node:dns/promises';
import { LangoError } from '../core/errors.js';
import { isPublicAddress } from './target-check.js';

/** Where to connect to for a host and port. Rejects with `forbidden` for a private or loopback address, and `unavailable`. */
export type AddressCheck = (host: string, port: number) => Promise<string>;

/**
 * The egress rule for connections that are not requests of its own (gRPC): the name is resolved here, every address of
 * it looked at, and the caller connects to the one given, so nothing can change in between. `allowPrivate` names hosts
 * as `name` or `name:port`.
 */
export function createAddressCheck(allowPrivate: readonly string[]): AddressCheck {
  const allowed = new Set(allowPrivate.map((name) => name.toLowerCase()));
  return async (host, port) => {
    const name = host.toLowerCase().replace(/^\[|\]$/g, '');
    const addresses = await lookup(name, { all: true }).catch((cause: unknown) => {
      throw new LangoError('unavailable', `${host} has no address.`, { cause, retryable: true });
    });
    const isAllowed = allowed.has(name) || allowed.has(`${name}:${port}`);
    if (!isAllowed && !addresses.every(({ address }) => isPublicAddress(address))) {
      throw new LangoError('forbidden', `${host}:${port} has a private or loopback address.`, {
        hint: `If that is meant, add "${host}:${port}" to egress.allowPrivate.`,
      });
    }
    return addresses[0]!.address;
  };
}
