import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Peer, PeerDirectory, Skill } from '../../core/agent.js';
import { silentLogger } from '../../core/logger.js';
import type { CardSource, LoadOptions, LoadedAgent, LoadedAgents, Miss } from './load.js';
import { labelOf, loadRemoteAgents, missOf, nameTaken } from './load.js';

/** One line of `lango agents`. */
interface AgentState {
  readonly name: string;
  readonly kind: CardSource['kind'];
  readonly url?: string;
  readonly state: 'ready' | 'skipped';
  /** Why it is skipped, or why its last check failed. */
  readonly reason?: string;
  /** What to do about it. */
  readonly hint?: string;
  readonly description?: string;
  readonly skills: readonly Skill[];
}

/** How a list of sources differs from the one before, by name. */
interface SourceChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

export interface RefreshingDirectory extends PeerDirectory {
  /** Loads all sources again. Calls that overlap are one. Never rejects. */
  refresh(): Promise<void>;
  /**
   * Replaces the sources. One that was there before stays as it is: the same object, or a remote one with equal
   * `settings`. The peers of sources that are gone leave at once, and new sources are loaded. Resolves with the names of
   * the sources that changed; never rejects.
   */
  replace(sources: readonly CardSource[]): Promise<SourceChange>;
  /** Every source with what became of it, in their order. */
  states(): readonly AgentState[];
}

interface DirectoryOptions extends LoadOptions {
  /** For `wait`. Default: a minute. */
  readonly waitMs?: number;
}

/** A peer leaves when its card could not be had so many times in a row. */
const FAILURES_TO_LEAVE = 2;

/** How long a peer may take to come up while somebody waits for it, and the pause between two looks. */
const WAIT_MS = 60_000;
const LOOK_MS = 1_000;

/**
 * The peers of `sources`; empty until the first `refresh`. Those that come back join, those that are gone
 * leave, with one line in the log for each change (requirement X4). `list` stays the same array while
 * nothing changes.
 */
export function createPeerDirectory(
  sources: readonly CardSource[],
  options: DirectoryOptions,
): RefreshingDirectory {
  return new Directory(sources, options);
}

interface Entry {
  readonly source: CardSource;
  agent: LoadedAgent | undefined;
  failures: number;
  miss: Miss | undefined;
}

class Directory implements RefreshingDirectory {
  #entries: readonly Entry[];
  readonly #options: DirectoryOptions;
  #peers: readonly Peer[] = [];
  /** By name, whoever was here last: what was begun with one that left goes on, with whoever has its name next. */
  readonly #last = new Map<string, LoadedAgent>();
  #refreshing: Promise<void> | undefined;

  constructor(sources: readonly CardSource[], options: DirectoryOptions) {
    this.#options = options;
    this.#entries = sources.map(newEntry);
  }

  list(): readonly Peer[] {
    return this.#peers;
  }

  get(name: string): Peer | undefined {
    return this.#peers.find((peer) => peer.name === name) ?? this.#last.get(name)?.peer;
  }

  async wait(name: string, signal: AbortSignal): Promise<Peer | undefined> {
    const { waitMs = WAIT_MS } = this.#options;
    const until = Date.now() + waitMs;
    for (;;) {
      const peer = this.get(name);
      if (peer || !this.#isExpected(name) || signal.aborted || Date.now() >= until) return peer;
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
      await this.refresh();
    }
  }

  #isExpected(name: string): boolean {
    return this.#entries.some(({ source }) => labelOf(source) === name);
  }

  refresh(): Promise<void> {
    this.#refreshing ??= this.#load(this.#entries).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async replace(sources: readonly CardSource[]): Promise<SourceChange> {
    const before = this.#entries;
    const now = sources.map(
      (source) => before.find((entry) => isSameSource(entry.source, source)) ?? newEntry(source),
    );
    this.#entries = now;
    this.#settle();
    await this.#load(now.filter((entry) => !before.includes(entry)));
    return changeOf(before, now);
  }

  states(): readonly AgentState[] {
    return this.#entries.map(({ source, agent, miss }) => ({
      name: agent?.peer.name ?? labelOf(source),
      kind: source.kind,
      ...(source.kind === 'remote' ? { url: source.url } : {}),
      state: agent ? 'ready' : 'skipped',
      ...(miss === undefined ? {} : missOf(miss)),
      ...(agent ? { description: agent.peer.description } : {}),
      skills: agent?.peer.skills ?? [],
    }));
  }

  async #load(entries: readonly Entry[]): Promise<void> {
    const sources = entries.map(({ source }) => source);
    // Changes are logged here; a source that stays unreachable is not worth a line each time.
    const loaded = await loadRemoteAgents(sources, { ...this.#options, logger: silentLogger });
    // Meanwhile others may have taken their place.
    for (const entry of entries) if (this.#entries.includes(entry)) this.#update(entry, loaded);
    this.#dropRivals();
    this.#settle();
  }

  #settle(): void {
    const agents = this.#entries.flatMap(({ agent }) => agent ?? []);
    for (const agent of agents) this.#remember(agent);
    const peers = agents.map(({ peer }) => peer);
    const isSame = peers.length === this.#peers.length && peers.every((peer, at) => peer === this.#peers[at]);
    if (!isSame) this.#peers = peers;
  }

  #remember(agent: LoadedAgent): void {
    const { name } = agent.peer;
    const last = this.#last.get(name);
    if (last === agent) return;
    last?.link.moveTo(agent.link);
    this.#last.set(name, agent);
  }

  #update(entry: Entry, loaded: LoadedAgents): void {
    const isOf = ({ source }: { readonly source: CardSource }) => source === entry.source;
    const agent = loaded.agents.find(isOf);
    if (!agent) this.#miss(entry, loaded.skipped.find(isOf));
    else if (this.#hasEarlier(agent.peer.name, entry)) this.#miss(entry, nameTaken(agent));
    else this.#join(entry, agent);
  }

  #hasEarlier(name: string, entry: Entry): boolean {
    const earlier = this.#entries.slice(0, this.#entries.indexOf(entry));
    return earlier.some(({ agent }) => agent?.peer.name === name);
  }

  #join(entry: Entry, agent: LoadedAgent): void {
    entry.failures = 0;
    entry.miss = undefined;
    if (entry.agent?.fingerprint === agent.fingerprint) return;
    const change = entry.agent ? 'agent changed its card' : 'agent joined';
    // That our own are here says the start; those of others come and go.
    const level = entry.source.kind === 'local' ? 'debug' : 'info';
    this.#options.logger[level](change, { agent: agent.peer.name });
    entry.agent = agent;
  }

  #miss(entry: Entry, miss: Miss = { reason: 'It was not loaded.' }): void {
    entry.failures += 1;
    if (entry.agent && entry.failures < FAILURES_TO_LEAVE) {
      entry.miss = miss;
      return;
    }
    if (entry.agent || entry.miss?.reason !== miss.reason) this.#skip(entry, miss);
  }

  /** One that stayed through a failure may meet a newcomer of its name; the earlier source keeps it. */
  #dropRivals(): void {
    for (const entry of this.#entries) {
      const { agent } = entry;
      if (agent && this.#hasEarlier(agent.peer.name, entry)) this.#skip(entry, nameTaken(agent));
    }
  }

  #skip(entry: Entry, miss: Miss): void {
    const change = entry.agent ? 'agent left' : 'agent skipped';
    const agent = entry.agent?.peer.name ?? labelOf(entry.source);
    this.#options.logger.warn(change, { agent, ...missOf(miss) });
    entry.agent = undefined;
    entry.miss = miss;
  }
}

function newEntry(source: CardSource): Entry {
  return { source, agent: undefined, failures: 0, miss: undefined };
}

function isSameSource(a: CardSource, b: CardSource): boolean {
  if (a === b) return true;
  if (a.kind === 'local' || b.kind === 'local') return false;
  return a.settings !== undefined && isDeepStrictEqual(a.settings, b.settings);
}

function changeOf(before: readonly Entry[], now: readonly Entry[]): SourceChange {
  const named = (entries: readonly Entry[]) =>
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
