import { randomBytes } from 'node:crypto';
import { LangoError } from '../../../core/errors.js';
import { scopeKey, type Scope } from '../../../core/task.js';
import type { ExitStatus } from './process.js';
import type { Command } from './runner.js';

/** A command that keeps running after the call that started it. */
export interface BackgroundProcess {
  readonly id: string;
  readonly command: string;
  /** The secrets whose values the command got. */
  readonly secrets: readonly string[];
  readonly process: Command;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Undefined while it runs. */
  readonly end: (ExitStatus & { readonly at: number }) | undefined;
}

type Entry = { -readonly [Key in keyof BackgroundProcess]: BackgroundProcess[Key] } & {
  readonly scope: Scope;
};

const RUNNING_PER_OWNER = 8;
const RUNNING_IN_ALL = 64;
/** Ended processes whose output stays readable; the oldest are dropped first. */
const ENDED_PER_OWNER = 8;
const ENDED_IN_ALL = 64;

/**
 * The background processes of this server. The list is in memory only: a restart ends the processes and forgets their ids.
 */
export class BackgroundProcesses {
  readonly #entries = new Map<string, Entry>();
  readonly #starting = new Set<{ readonly scope: Scope }>();

  /** Starts a process. Rejects with `too-many` at the limit per owner or per server. */
  async start(
    scope: Scope,
    what: Pick<BackgroundProcess, 'command' | 'secrets'>,
    launch: () => Promise<Command>,
  ): Promise<BackgroundProcess> {
    this.#assertCapacity(scope);
    const reservation = { scope };
    this.#starting.add(reservation);
    try {
      const process = await launch();
      return this.#add({ id: randomBytes(4).toString('hex'), ...what, process, scope });
    } finally {
      this.#starting.delete(reservation);
    }
  }

  /** Lists the owner's processes, oldest first. */
  list(scope: Scope): readonly BackgroundProcess[] {
    return this.#entriesOf(scope);
  }

  /** Throws `not-found`, also for a process of another owner. */
  require(scope: Scope, id: string): BackgroundProcess {
    const found = this.#entriesOf(scope).find((entry) => entry.id === id);
    if (found !== undefined) return found;
    throw new LangoError(
      'not-found',
      `id: there is no process "${id}". Call the action status without an id to list the processes. A restart of the server ends all of them.`,
    );
  }

  #assertCapacity(scope: Scope): void {
    const running = [...this.#entries.values()].filter(({ end }) => end === undefined);
    const taken = [...running, ...this.#starting];
    const own = taken.filter((entry) => belongsTo(entry, scope));
    if (own.length >= RUNNING_PER_OWNER) {
      throw new LangoError(
        'too-many',
        `The limit of ${own.length} running processes for one user is reached. Stop one with the action stop first.`,
      );
    }
    if (taken.length < RUNNING_IN_ALL) return;
    throw new LangoError(
      'too-many',
      'The limit of running processes on this server is reached. Try again later.',
      {
        retryable: true,
      },
    );
  }

  #add(started: Omit<Entry, 'startedAt' | 'end'>): BackgroundProcess {
    const entry: Entry = { ...started, startedAt: Date.now(), end: undefined };
    this.#entries.set(entry.id, entry);
    entry.process.ended.then(
      (ending) => this.#finish(entry, ending),
      () => this.#entries.delete(entry.id),
    );
    return entry;
  }

  #finish(entry: Entry, ending: ExitStatus): void {
    entry.end = { ...ending, at: Date.now() };
    this.#dropOldest(this.#entriesOf(entry.scope), ENDED_PER_OWNER);
    this.#dropOldest([...this.#entries.values()], ENDED_IN_ALL);
  }

  #dropOldest(entries: readonly Entry[], max: number): void {
    const ended = entries.filter(({ end }) => end !== undefined);
    for (const { id } of ended.slice(0, -max)) this.#entries.delete(id);
  }

  #entriesOf(scope: Scope): readonly Entry[] {
    return [...this.#entries.values()].filter((entry) => belongsTo(entry, scope));
  }
}

function belongsTo(entry: Pick<Entry, 'scope'>, scope: Scope): boolean {
  return scopeKey(entry.scope) === scopeKey(scope);
}
