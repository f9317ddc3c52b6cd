import { isDeepStrictEqual } from 'node:util';
import type { CardTrust } from '../a2a/client/card.js';
import type { OpenOptions, RemoteSource } from '../a2a/client/load.js';
import type { Config } from '../config/config.js';
import type { Secrets } from '../config/secrets.js';
import type { Logger } from '../core/logger.js';
import { createAddressCheck } from '../http/address-check.js';
import { createEgress } from '../http/egress.js';
import { JwtKeys, keysFromFile, keysFromUrl } from '../http/jwt-keys.js';

/** Where the list of remote agents stands, and their tokens. */
export interface RemoteList {
  readonly config: Config;
  readonly secrets: Secrets;
}

/** By name, how a list differs from the one before. */
export interface ListChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

type RemoteAgent = Config['a2a']['remoteAgents'][number];
type Verify = NonNullable<RemoteAgent['verify']>;

interface Known {
  readonly entry: RemoteAgent & { readonly token: string | undefined };
  readonly source: RemoteSource;
}

/** Keys are read again after five minutes, or when one is not among them. */
const KEY_TIMES = { refreshSeconds: 300, cooldownSeconds: 10 };

/** The remote agents of the configuration as sources of cards; none unless `a2a.enabled`. */
export class RemoteSources {
  readonly #config: Config;
  readonly #logger: Logger;
  #known: ReadonlyMap<string, Known> = new Map();
  /** To those that have no way of their own. */
  readonly way: Way;

  /** All but the list stays as it is in `config`. */
  constructor(config: Config, logger: Logger) {
    this.#config = config;
    this.#logger = logger;
    this.way = wayOut(config, [], logger);
  }

  list(): readonly RemoteSource[] {
    return [...this.#known.values()].map(({ source }) => source);
  }

  /** An entry that says what it said before keeps its source. */
  take({ config: { a2a }, secrets }: RemoteList): ListChange {
    const before = this.#known;
    const now = new Map<string, Known>();
    for (const agent of a2a.enabled ? a2a.remoteAgents : []) {
      const entry = { ...agent, token: secrets.remoteTokens.get(agent.name) };
      const known = before.get(agent.name);
      const isSame = known && isDeepStrictEqual(known.entry, entry);
      now.set(agent.name, isSame ? known : { entry, source: this.#toSource(entry) });
    }
    this.#known = now;
    const names = [...now.keys()];
    return {
      added: names.filter((name) => !before.has(name)),
      removed: [...before.keys()].filter((name) => !now.has(name)),
      changed: names.filter((name) => before.has(name) && before.get(name) !== now.get(name)),
    };
  }

  #toSource({ name, url, token, allowPrivate, verify }: Known['entry']): RemoteSource {
    const addresses = verify?.jwks === undefined ? [url] : [url, verify.jwks];
    const way = allowPrivate ? wayOut(this.#config, addresses, this.#logger) : undefined;
    const { fetch } = way ?? this.way;
    const trust = verify && trustOf(verify, fetch, this.#logger.child({ agent: name }));
    return { kind: 'remote', name, url, trust, way, ...(token ? { token } : {}) };
  }
}

type Way = Pick<OpenOptions, 'fetch' | 'grpc'>;

/** The hosts of `addresses` may have private addresses, whatever the port of their gRPC. */
function wayOut({ a2a, egress }: Config, addresses: readonly string[], logger: Logger): Way {
  const timeoutMs = 1_000 * a2a.connectSeconds;
  const urls = addresses.map((address) => new URL(address));
  const names = urls.map(({ hostname }) => hostname.replace(/^\[|\]$/g, ''));
  return {
    fetch: createEgress({
      allowPrivate: [...egress.allowPrivate, ...urls.map(({ host }) => host)],
      timeoutMs,
      logger,
      privateHint: 'If that is meant, set allowPrivate: true in its entry of a2a.remoteAgents.',
    }),
    grpc: { addressOf: createAddressCheck([...egress.allowPrivate, ...names]), timeoutMs },
  };
}

function trustOf({ jwks, keys, hash }: Verify, egress: typeof fetch, logger: Logger): CardTrust {
  const load = jwks === undefined ? keys && keysFromFile(keys) : keysFromUrl(jwks, egress);
  const trusted = load && new JwtKeys({ load, ...KEY_TIMES, logger });
  return {
    ...(hash === undefined ? {} : { hash }),
    ...(trusted ? { findKey: (header, token) => trusted.find(header, token) } : {}),
  };
}
