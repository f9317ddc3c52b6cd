import { isDeepStrictEqual } from 'node:util';
import type { AgentProfile, Peer, PeerDirectory } from '../../core/agent.js';
import type { JsonObject } from '../../core/json.js';
import type { Logger } from '../../core/logger.js';
import type { AgentState } from '../../core/node-status.js';
import { pause, waitAtMost } from '../../core/time.js';
import { Breaker } from './breaker.js';
import type { CardSource, LoadOptions, LoadedAgent, RemoteSource, SkipReason } from './load.js';
import { CREDENTIAL_HINT, labelOf, loadRemoteAgents, skipReason, nameTaken } from './load.js';

interface DirectoryOptions extends LoadOptions {
  readonly logger: Logger;
  /** How long work waits for a peer that cannot be reached. Default: one minute. */
  readonly waitMs?: number;
  /** How long a peer that cannot be reached stays in the list at least. Default: 0. */
  readonly leaveMs?: number;
}

/** The number of consecutive failures to load a card after which its peer leaves. */
const FAILURES_TO_LEAVE = 2;

/** The milliseconds that work waits for a peer, and the pause between the attempts of `wait`. */
const WAIT_MS = 60_000;
const POLL_MS = 1_000;

/** The milliseconds that `ready` waits for cards. */
const READY_MS = 2_000;

interface SourceEntry {
  readonly source: CardSource;
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
 * with one log line for each change (requirement X4). `list` returns the same array while nothing changes.
 */
export class RefreshingDirectory implements PeerDirectory {
  #entries: readonly SourceEntry[];
  readonly #options: DirectoryOptions;
  #peers: readonly Peer[] = [];
  /** The latest peer of each name. Tasks of a peer that left continue with the next peer of that name. */
  readonly #previous = new Map<string, LoadedAgent>();
  #ready: Promise<void | undefined> = Promise.resolve();

  constructor(sources: readonly CardSource[], options: DirectoryOptions) {
    this.#options = options;
    this.#entries = sources.map((source) => this.#newEntry(source));
  }

  #newEntry(source: CardSource): SourceEntry {
    const entry: SourceEntry = {
      ...{ source, agent: undefined, failures: 0, failedAt: 0, loading: undefined },
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
    return this.#peers;
  }

  get(name: string): Peer | undefined {
    return this.#peers.find((peer) => peer.name === name) ?? this.#previous.get(name)?.peer;
  }

  ready(): Promise<void> {
    return this.#ready;
  }

  async wait(name: string, signal: AbortSignal): Promise<Peer | undefined> {
    const { waitMs = WAIT_MS } = this.#options;
    const until = Date.now() + waitMs;
    for (;;) {
      const peer = this.get(name);
      const isExpected = this.#entries.some(({ source }) => labelOf(source) === name);
      if (peer || !isExpected || signal.aborted || Date.now() >= until) return peer;
      await pause(POLL_MS, { signal });
      // Other peers may send their cards slowly.
      await waitAtMost(POLL_MS, this.refresh(), { ref: false });
    }
  }

  /** Loads all sources again in parallel, each at most once at a time. Never rejects. */
  refresh(): Promise<void> {
    return this.#load(this.#entries);
  }

  /**
   * Replaces the sources. A source that is the same object, or a remote one with equal `settings`, keeps its peer. Peers
   * of removed sources leave at once, and new sources are loaded. Resolves with the names of the sources that changed.
   * Never rejects.
   */
  async replace(sources: readonly CardSource[]) {
    const before = this.#entries;
    const now = sources.map(
      (source) => before.find((entry) => isSameSource(entry.source, source)) ?? this.#newEntry(source),
    );
    this.#entries = now;
    this.#settle();
    const loading = this.#load(now.filter((entry) => !before.includes(entry)));
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
    return found?.source.kind === 'remote' ? found.agent?.card : undefined;
  }

  /** The remote sources, whether or not their cards are loaded. */
  remotes(): readonly RemoteSource[] {
    return this.#entries.flatMap(({ source }) => (source.kind === 'remote' ? source : []));
  }

  /** The remote agents in use, each with the address of its card without the query, which may hold a key. */
  known(): readonly (AgentProfile & { readonly cardUrl: string })[] {
    return this.#entries.flatMap(({ agent }) => {
      if (agent?.cardUrl === undefined) return [];
      const { name, description, skills } = agent.peer;
      const { origin, pathname } = new URL(agent.cardUrl);
      return { name, description, skills, cardUrl: origin + pathname };
    });
  }

  /** Loads the cards of entries. Each peer joins as soon as its own card is loaded. */
  async #load(entries: readonly SourceEntry[]): Promise<void> {
    await Promise.all(
      entries.map((entry) => {
        entry.loading ??= this.#loadOne(entry).finally(() => {
          entry.loading = undefined;
        });
        return entry.loading;
      }),
    );
  }

  async #loadOne(entry: SourceEntry): Promise<void> {
    const [loaded] = await loadRemoteAgents([entry.source], this.#options);
    // `replace` may have removed the entry meanwhile.
    if (this.#options.signal?.aborted || !this.#entries.includes(entry)) return;
    this.#update(entry, loaded!);
    this.#skipDuplicates();
    this.#settle();
  }

  #settle(): void {
    for (const agent of this.#entries.flatMap((entry) => entry.agent ?? [])) {
      const { name } = agent.peer;
      const last = this.#previous.get(name);
      if (last !== agent) last?.link.moveTo(agent.link);
      this.#previous.set(name, agent);
    }
    const peers = this.#entries.flatMap(({ agent }) => agent?.peer ?? []);
    for (const entry of this.#entries) noteState(entry);
    const isSame = peers.length === this.#peers.length && peers.every((peer, at) => peer === this.#peers[at]);
    if (!isSame) this.#peers = peers;
  }

  #update(entry: SourceEntry, loaded: LoadedAgent | SkipReason): void {
    if (!('peer' in loaded)) this.#recordFailure(entry, loaded);
    else if (this.#isTaken(loaded.peer.name, entry)) this.#recordFailure(entry, nameTaken(loaded));
    else this.#join(entry, loaded);
  }

  #isTaken(name: string, entry: SourceEntry): boolean {
    const earlier = this.#entries.slice(0, this.#entries.indexOf(entry));
    return earlier.some(({ agent }) => agent?.peer.name === name);
  }

  #join(entry: SourceEntry, agent: LoadedAgent): void {
    // The card could not be loaded before, so the whole server was away: now it is back.
    if (entry.failures > 0) entry.breaker.responded();
    else entry.breaker.probed();
    entry.failures = 0;
    entry.problem = agent.note;
    agent.link.breaker = entry.source.kind === 'remote' ? entry.breaker : undefined;
    if (entry.agent?.fingerprint === agent.fingerprint) return;
    const change = entry.agent ? 'agent changed its card' : 'agent joined';
    // The start-up log already names the local agents.
    const level = entry.source.kind === 'local' ? 'debug' : 'info';
    this.#options.logger[level](change, { agent: agent.peer.name });
    if (agent.note)
      this.#options.logger.warn('agent may refuse requests', { agent: agent.peer.name, ...agent.note });
    entry.agent = agent;
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

  /** Skips agents whose name an earlier source has, such as a source that kept its peer through a failure. */
  #skipDuplicates(): void {
    for (const entry of this.#entries) {
      const { agent } = entry;
      if (agent && this.#isTaken(agent.peer.name, entry)) this.#skip(entry, nameTaken(agent));
    }
  }

  #skip(entry: SourceEntry, problem: SkipReason): void {
    const change = entry.agent ? 'agent left' : 'agent skipped';
    this.#options.logger.warn(change, { agent: nameOf(entry), ...skipReason(problem) });
    entry.agent = undefined;
    entry.problem = problem;
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
