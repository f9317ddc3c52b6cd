import dns from 'node:dns';
import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';

type Found = (error: Error | null, found?: unknown, family?: number) => void;
type Lookup = (name: string, options: { all?: boolean }, done: Found) => void;
interface Connecting {
  createConnection: (this: unknown, options: { lookup?: Lookup }, done?: unknown) => unknown;
}

/** The addresses of host names that cases make up. All other names are resolved normally. */
export const addressesOf = new Map<string, readonly string[]>();

/**
 * Resolves made-up names from now on, and connects to this machine for each of their addresses, once these were checked: so a
 * check that lets one pass is seen.
 */
export function makeUpNames(): void {
  const real = dns.lookup as unknown as Lookup;
  const lookup: Lookup = (name, options, done) => {
    const addresses = addressesOf.get(name);
    if (!addresses) return real(name, options, done);
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    if (options.all) done(null, found);
    else done(null, found[0]!.address, found[0]!.family);
  };
  Object.assign(dns, { lookup });
  syncBuiltinESMExports();
  const agent = http.Agent.prototype as unknown as Connecting;
  const connect = agent.createConnection;
  agent.createConnection = function (options, done) {
    const inner = options.lookup;
    if (!inner) return connect.call(this, options, done);
    const here = { address: '127.0.0.1', family: 4 };
    const diverted: Lookup = (name, how, found) =>
      inner(name, how, (error) => {
        if (error) found(error);
        else if (how.all) found(null, [here]);
        else found(null, here.address, here.family);
      });
    return connect.call(this, { ...options, lookup: diverted }, done);
  };
}
