import { LangoError } from '../core/errors.js';
import type { HttpRoute } from '../core/http.js';
import { isJsonObject } from '../core/json.js';
import type { WalletKeeper } from '../core/wallet.js';
import { sendJson } from './errors.js';

export interface WalletRouteOptions {
  /** Answers `GET PATH`, and `PUT PATH` with a private key. */
  readonly path: string;
  /** Throws when there is no vault. */
  readonly keeper: () => WalletKeeper;
}

/** A caller's own wallet, for the command line while the server has the vault open. A key comes in here and never goes out. */
export function createWalletRoute({ path, keeper }: WalletRouteOptions): HttpRoute {
  return async (exchange) => {
    if (exchange.path !== path) return false;
    const { tenant, owner } = await exchange.caller();
    const scope = { tenant, owner };
    switch (exchange.request.method) {
      case 'GET':
        sendJson(exchange.response, 200, { address: await keeper().address(scope) });
        return true;
      case 'PUT': {
        const body = await exchange.readJson();
        const { privateKey, replace } = isJsonObject(body) ? body : {};
        if (typeof privateKey !== 'string')
          throw new LangoError('invalid-input', 'privateKey: it must be a text.');
        const address = await keeper().import(scope, privateKey, { replace: replace === true });
        sendJson(exchange.response, 200, { address });
        return true;
      }
      default:
        throw new LangoError('not-supported', 'Only GET and PUT are answered here.');
    }
  };
}
