import { LangoError } from '../core/errors.js';
import type { HttpRoute } from '../core/http.js';
import { isJsonObject } from '../core/json.js';
import type { WalletKeeper } from '../core/payment.js';
import { createOwnerRoute, wrongMethod } from './owner-route.js';

export interface WalletRouteOptions {
  /** Answers `GET PATH`, and `PUT PATH` with a private key. */
  readonly path: string;
  /** Throws when there is no vault. */
  readonly keeper: () => WalletKeeper;
}

/** A caller's own wallet, for the command line while the server has the vault open. A key comes in here and never goes out. */
export function createWalletRoute({ path, keeper }: WalletRouteOptions): HttpRoute {
  return createOwnerRoute(path, async ({ exchange, scope, name }) => {
    if (name !== undefined) throw new LangoError('not-found', 'An owner has one wallet, and it has no name.');
    switch (exchange.request.method) {
      case 'GET':
        return { address: await keeper().address(scope) };
      case 'PUT': {
        const body = await exchange.readJson();
        const { privateKey, replace } = isJsonObject(body) ? body : {};
        if (typeof privateKey !== 'string')
          throw new LangoError('invalid-input', 'privateKey: it must be a text.');
        return { address: await keeper().import(scope, privateKey, { replace: replace === true }) };
      }
      default:
        throw wrongMethod('GET', 'PUT');
    }
  });
}
