import type { CardTrust } from '../a2a/client/card.js';
import { tokenCredential } from '../core/credential.js';
import type { KeepingNode } from '../core/keeping-nodes.js';
import { createOwnerClient } from '../owners/client.js';
import { egressOf, type Parts } from './node.js';
import { RefreshingDirectory } from '../a2a/client/directory.js';
import type { GrpcRules } from '../a2a/client/grpc-transport.js';
import type { CredentialFor } from '../a2a/client/wire-tasks.js';
import type { CardSource, OpenOptions, RemoteSource } from '../a2a/client/load.js';
import { createOriginFetch } from '../core/origin-fetch.js';
import { signJwt } from '../a2a/server/signing.js';
import { AddedAgents, type AddedAgent } from '../config/added-agents.js';
import type { Config } from '../config/config.js';
import { changedKeys } from '../config/describe.js';
import type { LoadedConfig } from '../config/load.js';
import { secretValues } from '../config/secrets.js';
import { type ReadKeys, serverUrl } from '../core/card.js';
import { LangoError, errorText } from '../core/errors.js';
import type { Caller } from '../core/identity.js';
import type { ServerTrust } from '../core/http.js';
import { KeyedMutex } from '../core/keyed-mutex.js';
import type { Logger } from '../core/logger.js';
import { createAddressCheck } from '../http/address-check.js';
import { ASSERTION_TYPE, assertionClaims } from '../http/node-assertion.js';
import { JwtKeys, keysFromFile, keysFromUrl } from '../http/jwt-keys.js';
import { clientCertificate, type ClientCertificateFiles, type TlsMaterial } from '../http/tls.js';
import { createPeerCredential, readTls } from './identity.js';

/** The directory of this node's peers, empty until `replace` is called with the sources of their cards. */
export function createDirectory(node: Parts<'config' | 'logger' | 'stopping'>): RefreshingDirectory {
  const { connectSeconds, cardBytes, idleSeconds } = node.config.a2a;
  return new RefreshingDirectory([], {
    ...connectRules(node),
    timeoutMs: 1_000 * connectSeconds,
    cardBytes,
    signal: node.stopping,
    limits: { idleMs: 1_000 * idleSeconds },
    logger: node.logger,
  });
}

/** The sub-agents of this node as sources of cards: they become peers by the same path as remote agents (requirement X2). */
export function localSources({
  subAgents,
  published,
}: Parts<'subAgents' | 'published'>): readonly CardSource[] {
  return subAgents.map(({ profile: { name } }) => {
    return { kind: 'local', name, handler: published.get(name)!.handler };
  });
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

type CallingParts = Parts<'config' | 'keys' | 'logger'>;

/**
 * The remote agents of `list` as sources of cards; none unless `a2a.enabled`. A reload may have read the list and its
 * credentials anew; all other settings are those that the node was started with.
 */
export function remoteSources(
  list: LoadedConfig,
  node: CallingParts & Parts<'guard' | 'hidden'>,
): readonly CardSource[] {
  const { a2a } = list.config;
  if (isListUnused(list)) node.logger.warn(`a2a.remoteAgents ${UNUSED_LIST}`);
  const shared = connectRules(node);
  return (a2a.enabled ? a2a.remoteAgents : []).map((agent): RemoteSource => {
    const { name, url, allowPrivate, verify, relocate, auth } = agent;
    const values = list.secrets.remotes.get(name) ?? {};
    const addresses = verify?.jwks === undefined ? [url] : [url, verify.jwks];
    const rules = allowPrivate ? connectRules(node, addresses) : shared;
    const shown = auth?.mtls && withCertificate(auth.mtls, (trust) => connectRules(node, addresses, trust));
    const isForwarded = agent.owners === 'forward';
    return {
      ...{ kind: 'remote', name, url, settings: { agent, values } },
      trust: verify && trustOf(verify, rules.fetch, node.logger.child({ agent: name })),
      connect: { ...(shown ?? rules), relocate },
      credential: createPeerCredential({ ...node, agent, values }),
      credentialFor: isForwarded ? assertionFor(agent, node.keys) : undefined,
      fetchAs: isForwarded ? fetchForOwners(agent, node, OWNER_CALL_MS) : undefined,
    };
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

/** Makes the function that sends requests to that node on behalf of an owner. A token is valid for one request. */
function fetchForOwners(node: TrustingNode, parts: CallingParts, timeoutMs: number) {
  const { origin, host } = new URL(node.url);
  const allowPrivate = node.allowPrivate ? [host] : [];
  const privateHint = 'If that is meant, set allowPrivate: true beside its url.';
  const egress = egressOf(parts, { allowPrivate, timeoutMs, maxBytes: STREAM_BYTES, privateHint });
  const credentialFor = assertionFor(node, parts.keys);
  return async (caller: Caller): Promise<typeof fetch> =>
    async (input, init) => {
      const credential = tokenCredential(await credentialFor(caller, undefined));
      return createOriginFetch({ fetch: egress, origin, credential })(input, init);
    };
}

/** The time limit for a request about an owner's data, which may be large. */
const OWNER_CALL_MS = 60_000;
/** The time limit for a request to a node of `a2a.keptAt`. Large data comes in several, of some hundred kilobytes each. */
const KEPT_CALL_MS = 5_000;

/** Finds the node that `a2a.keptAt` names for a kind of data; undefined when this node keeps it. */
export function findKeepingNode(
  kind: keyof Config['a2a']['keptAt'],
  parts: CallingParts,
): KeepingNode | undefined {
  const { keptAt, baseUrl } = parts.config.a2a;
  const node = keptAt[kind];
  if (!node || (baseUrl !== undefined && new URL(node.url).origin === new URL(baseUrl).origin))
    return undefined;
  const fetchAs = fetchForOwners(node, parts, KEPT_CALL_MS);
  return {
    url: node.url,
    async clientFor(table, { tenant, owner }, signal) {
      const send = await fetchAs({ tenant, owner });
      return createOwnerClient(table, {
        url: node.url,
        fetch: (input, init) => send(input, { ...init, ...(signal && { signal }) }),
      });
    },
  };
}

type Verify = NonNullable<Config['a2a']['remoteAgents'][number]['verify']>;
type ConnectRules = Pick<OpenOptions, 'fetch' | 'grpc'>;

/** The largest event stream of a remote agent: room for the most text that it may send, as small events. */
const STREAM_BYTES = 32 * 1024 * 1024;

/** Keys are loaded again after five minutes, or when a key is not among them. */
const KEY_TIMES = { refreshSeconds: 300, cooldownSeconds: 10 };

/** HTTP and gRPC to remote agents. The hosts of `addresses` may have private addresses, whatever the port of their gRPC. */
function connectRules(
  node: Parts<'config' | 'logger'>,
  addresses: readonly string[] = [],
  trust?: ServerTrust,
): ConnectRules & { readonly grpc: GrpcRules } {
  const { a2a, egress } = node.config;
  const timeoutMs = 1_000 * a2a.connectSeconds;
  const urls = addresses.map((address) => new URL(address));
  const names = urls.map(({ hostname }) => hostname.replace(/^\[|\]$/g, ''));
  return {
    fetch: egressOf(node, {
      ...{ timeoutMs, streamBytes: STREAM_BYTES, isBoundedJson: true, trust },
      allowPrivate: urls.map(({ host }) => host),
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

/** Reads the present configuration, with `added` in place of the agents in the data folder. Rejects with `invalid-config`. */
export type ReadConfig = (added?: readonly AddedAgent[]) => Promise<LoadedConfig>;

/** Without `read`, the newest configuration stays, and only the files of the TLS certificate are read again. */
export type Reload = (read?: ReadConfig) => Promise<void>;

interface ReloadParts
  extends LoadedConfig, Parts<'hidden' | 'guard' | 'peers' | 'keys' | 'stopping' | 'logger'> {
  /** The sources of the node's own peers, which stay. */
  readonly local: readonly CardSource[];
  readonly renewTls: (tls: TlsMaterial) => void;
}

/** All other keys need a restart. */
const RELOADABLE: ReadonlySet<string> = new Set(['a2a.enabled', 'a2a.remoteAgents']);

/**
 * Makes the function that applies what may change while the server runs: the list of remote agents and the files of the
 * TLS certificate. A reload applies everything or, when anything is wrong, nothing. Reloads run one after the other.
 */
export function createReload(node: ReloadParts): Reload {
  const { stopping, logger } = node;
  const mutex = new KeyedMutex();
  let current: LoadedConfig = node;

  const reload = async (read: ReadConfig): Promise<void> => {
    if (stopping.aborted) return;
    const [next, tls] = await both(read(), readTls(node.config));
    if (stopping.aborted) return;
    for (const value of secretValues(next.secrets)) node.hidden.add(value);
    if (tls) node.renewTls(tls);
    current = next;
    const keys = changedKeys(node, next).filter((key) => !RELOADABLE.has(key));
    if (keys.length > 0) logger.warn('these keys changed, which needs a restart', { keys });
    const change = await node.peers.replace([...node.local, ...remoteSources(next, node)]);
    logger.info('reloaded the configuration', { ...change, certificate: tls && 'read again' });
  };
  return (read = async () => current) => mutex.run('reload', () => reload(read));
}

interface RegistryParts extends Parts<'config' | 'added' | 'peers' | 'logger'> {
  /** Undefined when a program gave the settings: there is no configuration to add to. */
  readonly read?: ReadConfig;
  readonly reload: Reload;
}

/** The remote agents that operators add to the running node and remove. Replicas with the same data folder have one list. */
export class PeerRegistry {
  readonly #options: RegistryParts;
  readonly #kept: AddedAgents;
  readonly #mutex = new KeyedMutex();
  /** The list that was last applied, as JSON. */
  #applied: string;

  constructor(options: RegistryParts) {
    this.#options = options;
    this.#kept = new AddedAgents(options.config.home);
    this.#applied = JSON.stringify(options.added ?? []);
  }

  /** Every `seconds`, applies changes of other replicas and loads all cards again. Returns a function that stops that. */
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
    const { config } = await read(agents).catch((cause: unknown) => {
      throw new LangoError('invalid-input', `The agent cannot be used: ${errorText(cause)}`, { cause });
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
