import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { MAX_NODE_NAME, type AgentProfile, type Peer, type PeerDirectory } from '../../core/agent.js';
import type { JsonObject } from '../../core/json.js';
import type { Logger } from '../../core/logger.js';
import type { AgentState, KnownNode } from '../../core/node-status.js';
import { pause, waitAtMost } from '../../core/time.js';
import { nodeOnCard } from '../translate/extensions.js';
import { Breaker } from './breaker.js';
import type { CardSource, LoadOptions, LoadedAgent, RemoteSource, SkipReason } from './load.js';
import { CREDENTIAL_HINT, labelOf, loadRemoteAgents, skipReason, nameTaken } from './load.js';

interface DirectoryOptions extends LoadOptions {
  readonly logger: Logger;
  /** The time that work waits for a peer that cannot be reached. Default: one minute. */
  readonly waitMs?: number;
  /** The least time that a peer that cannot be reached stays in the list. Default: 0. */
  readonly leaveMs?: number;
}

/** The number of consecutive failures to load a card after which its peer leaves. */
const FAILURES_TO_LEAVE = 2;

/** The milliseconds that work waits for a peer, and the pause between the attempts of `wait`. */
const WAIT_MS = 60_000;
const POLL_MS = 1_000;

/** The milliseconds that `ready` waits for cards. */
const READY_MS = 2_000;

/** The most cards that a refresh requests in a second: checking thousands of agents takes little of a core. */
const CARDS_PER_SECOND = 16;

/** The most cards that one call loads at once. */
const LOADS_AT_ONCE = 128;

interface SourceEntry {
  readonly source: CardSource;
  /** Its index among the entries. */
  at: number;
  agent: LoadedAgent | undefined;
  failures: number;
  /** When the first of the failures in a row was. */
  failedAt: number;
  /** Why the source has no agent, or why its agent may refuse requests. */
  problem: SkipReason | undefined;
  loading: Promise<void> | undefined;
  readonly breaker: Breaker;
  /** The state as of the last check, and when it began. */
  seen: { readonly state: AgentState['state']; readonly at: number };
}

/**
 * The directory of the peers of `sources`; it is empty until the first `refresh`. Peers join and leave with their cards,
 * with one log line for each change (requirement X4). `list` returns the same array while no card and no source changes.
 */
export class RefreshingDirectory implements PeerDirectory {
  #entries: readonly SourceEntry[];
  readonly #options: DirectoryOptions;
  #peers: readonly Peer[] | undefined;
  /** The entry that has the agent of a name. */
  readonly #named = new Map<string, SourceEntry>();
  #refreshing: Promise<void> | undefined;
  /** The latest peer of each name. Tasks of a peer that left continue with the next peer of that name. */
  readonly #previous = new Map<string, LoadedAgent>();
  #ready: Promise<void | undefined> = Promise.resolve();

  constructor(sources: readonly CardSource[], options: DirectoryOptions) {
    this.#options = options;
    this.#entries = sources.map((source, at) => this.#newEntry(source, at));
  }

  #newEntry(source: CardSource, at: number): SourceEntry {
    const entry: SourceEntry = {
      ...{ source, at, agent: undefined, failures: 0, failedAt: 0, loading: undefined },
      problem: { reason: 'Its card was not loaded yet.' },
      seen: { state: 'skipped', at: Date.now() },
      breaker: new Breaker({
        onChange: () => this.#noteBreaker(entry),
        onRefusal: (reason) => this.#noteRefusal(entry, reason),
        probe: () => waitAtMost(POLL_MS, this.#load([entry]), { ref: false }),
        waitMs: this.#options.waitMs ?? WAIT_MS,
      }),
    };
    return entry;
  }

  #noteBreaker(entry: SourceEntry): void {
    const agent = nameOf(entry);
    const { isOpen, reason } = entry.breaker;
    if (isOpen) this.#options.logger.warn('agent gets no new work', { agent, reason });
    else this.#options.logger.info('agent gets new work again', { agent });
    noteState(entry);
  }

  #noteRefusal(entry: SourceEntry, reason: string | undefined): void {
    const agent = nameOf(entry);
    const { logger } = this.#options;
    if (reason === undefined) logger.info('agent accepts the credential again', { agent });
    else logger.warn('agent refuses the credential', { agent, reason, hint: CREDENTIAL_HINT });
    noteState(entry);
  }

  list(): readonly Peer[] {
    this.#peers ??= this.#entries.flatMap(({ agent }) => agent?.peer ?? []);
    return this.#peers;
  }

  get(name: string): Peer | undefined {
    return this.#previous.get(name)?.peer;
  }

  ready(): Promise<void> {
    return this.#ready;
  }

  async wait(name: string, signal: AbortSignal): Promise<Peer | undefined> {
    const { waitMs = WAIT_MS } = this.#options;
    const until = Date.now() + waitMs;
    for (;;) {
      const peer = this.get(name);
      const expected = this.#entries.filter(({ source }) => labelOf(source) === name);
      if (peer || expected.length === 0 || signal.aborted || Date.now() >= until) return peer;
      await pause(POLL_MS, { signal });
      await waitAtMost(POLL_MS, this.#load(expected), { ref: false });
    }
  }

  /** Loads all sources again, each at most once at a time, many of them over a longer time. Never rejects. */
  refresh(): Promise<void> {
    if (this.#entries.length <= CARDS_PER_SECOND) return this.#load(this.#entries);
    this.#refreshing ??= this.#loadSlowly(this.#entries).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #loadSlowly(entries: readonly SourceEntry[]): Promise<void> {
    const { signal } = this.#options;
    const loads: Promise<void>[] = [];
    for (let at = 0; at < entries.length; at += CARDS_PER_SECOND) {
      if (at > 0 && !(await pause(1_000, { signal, ref: false }))) break;
      loads.push(this.#load(entries.slice(at, at + CARDS_PER_SECOND)));
    }
    await Promise.all(loads);
  }

  /**
   * Replaces the sources. A source that is the same object, or a remote one with equal `settings`, keeps its peer. Peers
   * of removed sources leave at once, and new sources are loaded. Resolves with the names of the sources that changed.
   * Never rejects.
   */
  async replace(sources: readonly CardSource[]) {
    const before = this.#entries;
    const labeled = Map.groupBy(before, ({ source }) => labelOf(source));
    const now = sources.map((source, at) => {
      const kept = labeled.get(labelOf(source))?.find((entry) => isSameSource(entry.source, source));
      return kept ? Object.assign(kept, { at }) : this.#newEntry(source, at);
    });
    this.#entries = now;
    const isKept = new Set(now);
    for (const entry of before) if (!isKept.has(entry)) this.#leave(entry);
    this.#peers = undefined;
    const wasKnown = new Set(before);
    const loading = this.#load(now.filter((entry) => !wasKnown.has(entry)));
    this.#ready = waitAtMost(READY_MS, loading, { ref: false });
    await loading;
    return changeOf(before, now);
  }

  states(): readonly AgentState[] {
    for (const entry of this.#entries) noteState(entry);
    return this.#entries.map(({ source, agent, problem, breaker, seen }) => ({
      name: nameOf({ source, agent }),
      kind: source.kind,
      ...(source.kind === 'remote' ? { url: source.url } : {}),
      state: seen.state,
      since: new Date(seen.at).toISOString(),
      ...(breaker.reason === undefined ? {} : { reason: breaker.reason }),
      ...(breaker.isRefused ? { hint: CREDENTIAL_HINT } : {}),
      ...(problem === undefined ? {} : skipReason(problem)),
      ...(agent ? { description: agent.peer.use ?? agent.peer.description } : {}),
      skills: agent?.peer.skills ?? [],
    }));
  }

  /** The card of a remote agent as it was received; undefined while there is none. */
  cardOf(name: string): JsonObject | undefined {
    const found = this.#entries.find((entry) => nameOf(entry) === name);
    return found?.source.kind === 'remote' ? found.agent?.json : undefined;
  }

  /** The remote sources, whether or not their cards are loaded. */
  remotes(): readonly RemoteSource[] {
    return this.#entries.flatMap(({ source }) => (source.kind === 'remote' ? source : []));
  }

  /** The nodes of the remote agents: as a card says, else by its address and the name of the agent. */
  nodes(): readonly KnownNode[] {
    return this.#entries.flatMap(({ source, agent }) => {
      if (source.kind !== 'remote') return [];
      const { origin: url, host } = new URL(source.url);
      const name = (source.name ?? agent?.peer.name ?? host).slice(0, MAX_NODE_NAME);
      return { id: url, name, ...nodeOnCard(agent?.json), url };
    });
  }

  /** The remote agents in use, each with the address of its card without the query, which may hold a key. */
  known(): readonly (AgentProfile & { readonly cardUrl: string })[] {
    return this.#entries.flatMap(({ agent }) => {
      if (agent?.url === undefined) return [];
      const { name, description, skills } = agent.peer;
      const { origin, pathname } = new URL(agent.url);
      return { name, description, skills, cardUrl: origin + pathname };
    });
  }

  /** Loads the cards of entries. Each peer joins as soon as its own card is loaded. */
  async #load(entries: readonly SourceEntry[]): Promise<void> {
    const waiting = entries.values();
    const loadNext = async (): Promise<void> => {
      for (const entry of waiting) {
        entry.loading ??= this.#loadOne(entry).finally(() => {
          entry.loading = undefined;
        });
        await entry.loading;
        // An address that is refused by its text fails without a turn of the event loop.
        await nextTurn();
      }
    };
    await Promise.all(Array.from({ length: Math.min(LOADS_AT_ONCE, entries.length) }, loadNext));
  }

  async #loadOne(entry: SourceEntry): Promise<void> {
    // `replace` may remove the entry before and while it is loaded.
    const isGone = (): boolean => this.#options.signal?.aborted === true || this.#entries[entry.at] !== entry;
    if (isGone()) return;
    const [loaded] = await loadRemoteAgents([entry.source], this.#options, [entry.agent]);
    if (isGone()) return;
    this.#update(entry, loaded!);
    noteState(entry);
  }

  #update(entry: SourceEntry, loaded: LoadedAgent | SkipReason): void {
    if (!('peer' in loaded)) return this.#recordFailure(entry, loaded);
    const holder = this.#named.get(loaded.peer.name);
    // The name belongs to the earlier source, also while that source keeps its peer through a failure.
    if (holder && holder.at < entry.at) return this.#recordFailure(entry, nameTaken(loaded));
    this.#join(entry, loaded);
    if (holder?.agent && holder !== entry) this.#skip(holder, nameTaken(holder.agent));
  }

  #join(entry: SourceEntry, agent: LoadedAgent): void {
    // The card could not be loaded before, so the whole server was away: now it is back.
    if (entry.failures > 0) entry.breaker.responded();
    else entry.breaker.probed();
    entry.failures = 0;
    entry.problem = agent.note;
    agent.link.breaker = entry.source.kind === 'remote' ? entry.breaker : undefined;
    if (entry.agent?.fingerprint === agent.fingerprint) {
      entry.agent = { ...entry.agent, json: agent.json };
      return;
    }
    const change = entry.agent ? 'agent changed its card' : 'agent joined';
    // The start-up log already names the local agents.
    const level = entry.source.kind === 'local' ? 'debug' : 'info';
    this.#options.logger[level](change, { agent: agent.peer.name });
    if (agent.note)
      this.#options.logger.warn('agent may refuse requests', { agent: agent.peer.name, ...agent.note });
    this.#leave(entry);
    entry.agent = agent;
    this.#peers = undefined;
    const { name } = agent.peer;
    this.#named.set(name, entry);
    this.#previous.get(name)?.link.moveTo(agent.link);
    this.#previous.set(name, agent);
  }

  /** Takes the agent of an entry out of the list. */
  #leave(entry: SourceEntry): void {
    if (!entry.agent) return;
    const { name } = entry.agent.peer;
    if (this.#named.get(name) === entry) this.#named.delete(name);
    entry.agent = undefined;
    this.#peers = undefined;
  }

  #recordFailure(entry: SourceEntry, problem: SkipReason): void {
    entry.failures += 1;
    if (entry.failures === 1) entry.failedAt = performance.now();
    const { leaveMs = 0 } = this.#options;
    const mayReturn = problem.isAway === true && performance.now() - entry.failedAt < leaveMs;
    if (entry.agent && (mayReturn || entry.failures < FAILURES_TO_LEAVE)) {
      entry.problem = problem;
      return;
    }
    if (entry.agent || entry.problem?.reason !== problem.reason) this.#skip(entry, problem);
  }

  #skip(entry: SourceEntry, problem: SkipReason): void {
    const change = entry.agent ? 'agent left' : 'agent skipped';
    this.#options.logger.warn(change, { agent: nameOf(entry), ...skipReason(problem) });
    this.#leave(entry);
    entry.problem = problem;
    noteState(entry);
  }
}

function nameOf({ agent, source }: Pick<SourceEntry, 'agent' | 'source'>): string {
  return agent?.peer.name ?? labelOf(source);
}

function noteState(entry: SourceEntry): void {
  const state = stateOf(entry);
  if (entry.seen.state !== state) entry.seen = { state, at: Date.now() };
}

function stateOf({ agent, problem, breaker }: SourceEntry): AgentState['state'] {
  if (!agent) return problem?.isHeld === true ? 'held' : 'skipped';
  if (breaker.isOpen) return 'open';
  return problem || breaker.reason !== undefined ? 'degraded' : 'ready';
}

function isSameSource(a: CardSource, b: CardSource): boolean {
  if (a === b) return true;
  if (a.kind === 'local' || b.kind === 'local') return false;
  return a.settings !== undefined && isDeepStrictEqual(a.settings, b.settings);
}

/** The differences of a list of sources from the one before, by name. */
function changeOf(before: readonly SourceEntry[], now: readonly SourceEntry[]) {
  const named = (entries: readonly SourceEntry[]) =>
    new Map(entries.map((entry) => [labelOf(entry.source), entry]));
  const [old, current] = [named(before), named(now)];
  return {
    added: [...current.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !current.has(name)),
    changed: [...current].flatMap(([name, entry]) =>
      old.has(name) && old.get(name) !== entry ? [name] : [],
    ),
  };
}
