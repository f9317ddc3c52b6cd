import type { CardTrust } from '../a2a/client/card.js';
import { tokenCredential } from '../core/credential.js';
import { RefreshingDirectory } from '../a2a/client/directory.js';
import type { GrpcRules } from '../a2a/client/grpc-transport.js';
import type { CredentialFor } from '../a2a/client/wire-tasks.js';
import type { CardSource, OpenOptions, RemoteSource } from '../a2a/client/load.js';
import { createOriginFetch } from '../core/origin-fetch.js';
import { signJwt } from '../a2a/server/signing.js';
import type { PublishedAgent } from '../a2a/server/operations.js';
import { AddedAgents, type AddedAgent } from '../config/added-agents.js';
import type { Config } from '../config/config.js';
import { changedKeys } from '../config/describe.js';
import type { LoadedConfig } from '../config/load.js';
import { secretValues } from '../config/secrets.js';
import type { Agent } from '../core/agent.js';
import type { ReadKeys } from '../core/card.js';
import { serverUrl } from '../core/card.js';
import { LangoError, errorText } from '../core/errors.js';
import type { Caller } from '../core/identity.js';
import type { ServerTrust } from '../core/http.js';
import { KeyedMutex } from '../core/keyed-mutex.js';
import type { Logger } from '../core/logger.js';
import type { SecretGuard } from '../core/secrets.js';
import { createAddressCheck } from '../http/address-check.js';
import { createEgress } from '../http/egress.js';
import { ASSERTION_TYPE, assertionClaims } from '../http/node-assertion.js';
import { JwtKeys, keysFromFile, keysFromUrl } from '../http/jwt-keys.js';
import { clientCertificate, type ClientCertificateFiles, type TlsMaterial } from '../http/tls.js';
import { createPeerCredential, readTls } from './identity.js';

/** The directory of this node's peers. It is empty until `replace` is called with the sources of their cards. */
export function createDirectory(config: Config, logger: Logger, signal: AbortSignal): RefreshingDirectory {
  return new RefreshingDirectory([], {
    ...connectRules(config, [], { logger }),
    timeoutMs: 1_000 * config.a2a.connectSeconds,
    cardBytes: config.a2a.cardBytes,
    signal,
    limits: { idleMs: 1_000 * config.a2a.idleSeconds },
    logger,
  });
}

/** The sub-agents of this node as sources of cards: they become peers by the same path as remote agents (requirement X2). */
export function localSources(
  subAgents: readonly Agent[],
  published: ReadonlyMap<string, PublishedAgent>,
): readonly CardSource[] {
  return subAgents.map(({ profile: { name } }) => {
    return { kind: 'local', name, handler: published.get(name)!.handler };
  });
}

/** The list of remote agents and their credentials, which a reload may have read anew. */
export interface RemoteList extends LoadedConfig {
  /** The configuration that the node was started with: all other settings are those of it. */
  readonly started: Config;
  /** The keys of this node: requests on behalf of an owner are signed with them. */
  readonly keys: ReadKeys;
  readonly guard: SecretGuard;
  readonly hidden: Set<string>;
  readonly logger: Logger;
}

/** Whether remote agents are configured but `a2a.enabled` is not set. */
export function isListUnused({
  config: { a2a },
  origins,
}: Pick<LoadedConfig, 'config' | 'origins'>): boolean {
  return a2a.remoteAgents.length > 0 && !a2a.enabled && !origins.has('a2a.enabled');
}

export const UNUSED_LIST =
  'is not used without a2a.enabled: true; set a2a.enabled to false to keep the list for later';

/** The remote agents of the configuration as sources of cards; none unless `a2a.enabled`. */
export function remoteSources(list: RemoteList): readonly CardSource[] {
  const { secrets, started, keys, guard, hidden, logger } = list;
  const { a2a } = list.config;
  if (isListUnused(list)) logger.warn(`a2a.remoteAgents ${UNUSED_LIST}`);
  const shared = connectRules(started, [], { logger });
  return (a2a.enabled ? a2a.remoteAgents : []).map((agent): RemoteSource => {
    const { name, url, allowPrivate, verify, relocate, auth } = agent;
    const values = secrets.remotes.get(name) ?? {};
    const credential = createPeerCredential({ agent, values, guard, config: started, hidden, logger });
    const addresses = verify?.jwks === undefined ? [url] : [url, verify.jwks];
    const rules = allowPrivate ? connectRules(started, addresses, { logger }) : shared;
    const shown =
      auth?.mtls &&
      withCertificate(auth.mtls, (trust) => connectRules(started, addresses, { logger, trust }));
    const connect = { ...(shown ?? rules), relocate };
    const trust = verify && trustOf(verify, rules.fetch, logger.child({ agent: name }));
    const settings = { agent, values };
    const isForwarded = agent.owners === 'forward';
    const credentialFor = isForwarded ? assertionFor(agent, keys) : undefined;
    const calls = { keys, config: started, timeoutMs: OWNER_CALL_MS, logger };
    const fetchAs = isForwarded ? fetchForOwners(agent, calls) : undefined;
    return { kind: 'remote', name, url, trust, connect, settings, credential, credentialFor, fetchAs };
  });
}

/** A node that trusts this one to name the owner of a request. */
interface TrustingNode {
  readonly url: string;
  readonly audience?: string | undefined;
  readonly allowPrivate: boolean;
}

/** Makes the function that signs the tokens which name the owner to that node. */
function assertionFor(
  { url, audience = serverUrl(url, '/').href }: TrustingNode,
  keys: ReadKeys,
): CredentialFor {
  return async (caller, task) => {
    const { current: key } = await keys();
    return signJwt(key, assertionClaims({ key, audience, caller, task }), ASSERTION_TYPE);
  };
}

interface OwnerCalls {
  readonly keys: ReadKeys;
  readonly config: Config;
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/**
 * Makes the function that sends requests to that node on behalf of an owner. Each request has its own token, because a
 * token is valid for one request.
 */
export function fetchForOwners(node: TrustingNode, { keys, config, timeoutMs, logger }: OwnerCalls) {
  const { origin, host } = new URL(node.url);
  const hosts = node.allowPrivate ? [host] : [];
  const allowPrivate = [...config.egress.allowPrivate, ...hosts];
  const privateHint = 'If that is meant, set allowPrivate: true beside its url.';
  const egress = createEgress({ allowPrivate, timeoutMs, maxBytes: STREAM_BYTES, privateHint, logger });
  const credentialFor = assertionFor(node, keys);
  return async (caller: Caller): Promise<typeof fetch> =>
    async (input, init) => {
      const credential = tokenCredential(await credentialFor(caller, undefined));
      return createOriginFetch({ fetch: egress, origin, credential })(input, init);
    };
}

/** The time limit for a request about an owner's data, which may be large. */
const OWNER_CALL_MS = 60_000;

type Verify = NonNullable<Config['a2a']['remoteAgents'][number]['verify']>;
type ConnectRules = Pick<OpenOptions, 'fetch' | 'grpc'>;

/** The largest event stream of a remote agent: room for the most text that it may send, as small events. */
const STREAM_BYTES = 32 * 1024 * 1024;

/** Keys are loaded again after five minutes, or when a key is not among them. */
const KEY_TIMES = { refreshSeconds: 300, cooldownSeconds: 10 };

/** HTTP and gRPC to remote agents. The hosts of `addresses` may have private addresses, whatever the port of their gRPC. */
function connectRules(
  { a2a, egress }: Config,
  addresses: readonly string[],
  { logger, trust }: { readonly logger: Logger; readonly trust?: ServerTrust | undefined },
): ConnectRules & { readonly grpc: GrpcRules } {
  const timeoutMs = 1_000 * a2a.connectSeconds;
  const urls = addresses.map((address) => new URL(address));
  const names = urls.map(({ hostname }) => hostname.replace(/^\[|\]$/g, ''));
  return {
    fetch: createEgress({
      allowPrivate: [...egress.allowPrivate, ...urls.map(({ host }) => host)],
      timeoutMs,
      streamBytes: STREAM_BYTES,
      isBoundedJson: true,
      trust,
      logger,
      privateHint: 'If that is meant, set allowPrivate: true in its entry of a2a.remoteAgents.',
    }),
    grpc: { addressOf: createAddressCheck([...egress.allowPrivate, ...names]), timeoutMs },
  };
}

/** Connections that show a client certificate, which is read again when its files change. */
function withCertificate(
  files: ClientCertificateFiles,
  rulesWith: (trust?: ServerTrust) => ReturnType<typeof connectRules>,
): ConnectRules {
  const read = clientCertificate(files);
  let made: { readonly trust: ServerTrust; readonly fetch: typeof fetch } | undefined;
  return {
    grpc: { ...rulesWith().grpc, trust: read },
    fetch: async (input, init) => {
      const trust = await read();
      if (made?.trust !== trust) made = { trust, fetch: rulesWith(trust).fetch };
      return made.fetch(input, init);
    },
  };
}

function trustOf({ jwks, keys, hash }: Verify, egress: typeof fetch, logger: Logger): CardTrust {
  const load = jwks === undefined ? keys && keysFromFile(keys) : keysFromUrl(jwks, egress);
  const trusted = load && new JwtKeys({ load, ...KEY_TIMES, logger });
  return { hash, findKey: trusted ? (header, token) => trusted.find(header, token) : undefined };
}

/**
 * Reads the configuration as it is now, with `added` in place of the agents that the data folder keeps. Rejects with
 * `invalid-config` when it is wrong.
 */
export type ReadConfig = (added?: readonly AddedAgent[]) => Promise<LoadedConfig>;

/** Without `read`, the newest configuration stays, and only the files of the TLS certificate are read again. */
export type Reload = (read?: ReadConfig) => Promise<void>;

export interface ReloadOptions {
  /** The configuration that the server was started with. */
  readonly started: LoadedConfig;
  /** The values that the log hides: gets the new secrets before they are used. */
  readonly hidden: Set<string>;
  readonly guard: SecretGuard;
  readonly peers: RefreshingDirectory;
  /** The sources of the node's own peers, which stay. */
  readonly local: readonly CardSource[];
  readonly keys: ReadKeys;
  readonly renewTls: (tls: TlsMaterial) => void;
  /** Aborts when the server stops: later reloads do nothing. */
  readonly stopping: AbortSignal;
  readonly logger: Logger;
}

/** All other keys need a restart. */
const RELOADABLE: ReadonlySet<string> = new Set(['a2a.enabled', 'a2a.remoteAgents']);

/**
 * Makes the function that applies what may change while the server runs: the list of remote agents and the files of the
 * TLS certificate. A reload applies everything or, when anything is wrong, nothing. Reloads run one after the other.
 */
export function createReload({ started, hidden, peers, local, ...options }: ReloadOptions): Reload {
  const { keys: nodeKeys, renewTls, stopping, guard, logger } = options;
  const mutex = new KeyedMutex();
  let current = started;

  const reload = async (read: ReadConfig): Promise<void> => {
    if (stopping.aborted) return;
    const [next, tls] = await both(read(), readTls(started.config));
    if (stopping.aborted) return;
    for (const value of secretValues(next.secrets)) hidden.add(value);
    if (tls) renewTls(tls);
    current = next;
    const keys = changedKeys(started, next).filter((key) => !RELOADABLE.has(key));
    if (keys.length > 0) logger.warn('these keys changed, which needs a restart', { keys });
    const remote = remoteSources({
      ...next,
      started: started.config,
      ...{ keys: nodeKeys, guard, hidden, logger },
    });
    const change = await peers.replace([...local, ...remote]);
    logger.info('reloaded the configuration', { ...change, certificate: tls && 'read again' });
  };
  return (read = async () => current) => mutex.run('reload', () => reload(read));
}

export interface RegistryOptions {
  readonly home: string;
  /** The added agents that the server was started with. */
  readonly added?: readonly AddedAgent[];
  readonly peers: RefreshingDirectory;
  /** Undefined when a program gave the settings: there is no configuration to add to. */
  readonly read?: ReadConfig;
  readonly reload: Reload;
  readonly logger: Logger;
}

/**
 * The remote agents that operators add to the running node and remove again. Changes run one after the other. Replicas with
 * the same data folder have one list.
 */
export class PeerRegistry {
  readonly #options: RegistryOptions;
  readonly #kept: AddedAgents;
  readonly #mutex = new KeyedMutex();
  /** The list that was last applied, as JSON. */
  #applied: string;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#kept = new AddedAgents(options.home);
    this.#applied = JSON.stringify(options.added ?? []);
  }

  /**
   * Every `seconds`, applies the changes that other replicas made to the list, and loads the cards of all peers again. Returns
   * a function that stops this.
   */
  keepFresh(seconds: number): () => void {
    const refreshing = setInterval(() => {
      void this.#follow().then(() => this.#options.peers.refresh());
    }, 1_000 * seconds);
    return () => clearInterval(refreshing);
  }

  /** Resolves with the state of the agent once its card was asked for. Rejects with `conflict` or `invalid-input`. */
  add(agent: AddedAgent): Promise<ReturnType<RefreshingDirectory['states']>[number]> {
    return this.#mutex.run('', async () => {
      const { name } = agent;
      const { peers } = this.#options;
      if (peers.states().some((peer) => peer.name === name)) {
        const hint = 'Choose another name, or remove that one first.';
        throw new LangoError('conflict', `There is an agent ${name} already.`, { hint });
      }
      await this.#apply([...(await this.#kept.read()), agent]);
      return peers.states().find((peer) => peer.name === name)!;
    });
  }

  /** Rejects with `not-found` for an agent that was not added, and with `conflict` for one of the configuration. */
  remove(name: string): Promise<void> {
    return this.#mutex.run('', async () => {
      const kept = await this.#kept.read();
      const rest = kept.filter((agent) => agent.name !== name);
      if (rest.length < kept.length) return this.#apply(rest);
      if (!this.#options.peers.states().some((peer) => peer.name === name)) {
        throw new LangoError('not-found', `There is no agent ${name}.`, { hint: 'See: lango agents' });
      }
      const hint = 'Remove it from the configuration and send the server SIGHUP, or restart it.';
      throw new LangoError('conflict', `The agent ${name} was not added by "lango agents add".`, { hint });
    });
  }

  /** The list is checked as a part of the whole configuration before it is kept. */
  async #apply(agents: readonly AddedAgent[]): Promise<void> {
    const { read, reload } = this.#options;
    if (!read) {
      const hint = 'Name the agent in its settings, or in a configuration file of "lango serve".';
      throw new LangoError('not-supported', 'A program started this server and gave its settings.', { hint });
    }
    const { config } = await read(agents).catch((error: unknown) => {
      throw new LangoError('invalid-input', `The agent cannot be used: ${errorText(error)}`, {
        cause: error,
      });
    });
    // Added agents switch `a2a.enabled` on: without the last of them it may be off again.
    if (agents.length > 0 && !config.a2a.enabled) {
      const hint = 'Set a2a.enabled to true in the configuration.';
      throw new LangoError('invalid-input', 'This server uses no remote agents.', { hint });
    }
    await this.#kept.replace(agents);
    // Read again: the configuration file may have changed meanwhile, and a reload of it may be first.
    await reload(read);
    this.#applied = JSON.stringify(agents);
  }

  /** Never rejects: logs why a list cannot be applied, and tries it again the next time. */
  #follow(): Promise<void> {
    const { read, reload, logger } = this.#options;
    return this.#mutex.run('', async () => {
      try {
        const agents = JSON.stringify(await this.#kept.read());
        if (!read || agents === this.#applied) return;
        await reload(read);
        this.#applied = agents;
      } catch (error) {
        logger.error('the added agents of another replica cannot be used', { error: errorText(error) });
      }
    });
  }
}

/** Waits for both. When both fail, rejects with one error that has both texts. */
async function both<A, B>(a: Promise<A>, b: Promise<B>): Promise<readonly [A, B]> {
  const results = await Promise.allSettled([a, b]);
  const wrong = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  if (wrong.length > 1) throw new LangoError('invalid-config', wrong.map(errorText).join('\n'));
  return Promise.all([a, b]);
}
