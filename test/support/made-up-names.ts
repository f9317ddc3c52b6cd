import { jest } from '@jest/globals';
import dns from 'node:dns';
import * as http from 'node:http';
import * as https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';

/**
 * The addresses of host names that tests make up: each lookup of a name takes its next list, and the last list stays.
 * All other names are resolved normally.
 */
export const resolved = new Map<string, string[][]>();

type Found = (error: Error | null, found?: unknown, family?: number) => void;
type Lookup = (name: string, options: { all?: boolean }, done: Found) => void;

const realLookup = dns.lookup;

/** In the place of the function of `node:dns` from `replaceLookup` to `restoreLookup`. */
export const lookup = jest.fn<Lookup>((name, options, done) => {
  const times = resolved.get(name);
  const addresses = times && times.length > 1 ? times.shift() : times?.[0];
  if (!addresses) return realLookup(name, options, done as never);
  const found = addresses.map((address) => ({ address, family: 4 }));
  if (options.all) done(null, found);
  else done(null, found[0]!.address, 4);
});

export function replaceLookup(): void {
  setLookup(lookup);
}

export function restoreLookup(): void {
  setLookup(realLookup);
}

function setLookup(to: unknown): void {
  Object.assign(dns, { lookup: to });
  syncBuiltinESMExports();
}

/** An address of the public internet. */
export const PUBLIC = '93.184.216.34';

/**
 * Directs later connections to the public address to this machine, once the name was resolved and its addresses were
 * checked. `jest.restoreAllMocks` ends it.
 */
export function bringInternetHere(): void {
  for (const { prototype } of [http.Agent, https.Agent] as unknown as { prototype: Connecting }[]) {
    const connect = prototype.createConnection;
    jest.spyOn(prototype, 'createConnection').mockImplementation(function (this: unknown, options, done) {
      const inner = options.lookup;
      const diverted: Lookup = (name, how, found) =>
        inner!(name, how, (error, addresses, family) => found(error, here(addresses), family));
      return connect.call(this, { ...options, ...(inner ? { lookup: diverted } : {}) }, done);
    });
  }
}

interface Connecting {
  createConnection: (this: unknown, options: { lookup?: Lookup }, done?: unknown) => unknown;
}

function here(found: unknown): unknown {
  return JSON.parse(JSON.stringify(found ?? null).replaceAll(PUBLIC, '127.0.0.1'));
}
