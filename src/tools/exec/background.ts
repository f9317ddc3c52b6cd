import { randomBytes } from 'node:crypto';
import { LangoError } from '../../core/errors.js';
import { scopeKey, type Scope } from '../../core/task.js';
import type { ExitStatus, Process } from './process.js';

/** A command that goes on after the call that started it. */
export interface BackgroundProcess {
  readonly id: string;
  readonly command: string;
  readonly process: Process;
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
/** Ended ones whose output can still be read; the oldest goes first. */
const ENDED_PER_OWNER = 8;
const ENDED_IN_ALL = 64;

/**
 * The long-running commands of this process's life, by handle. They are kept in memory only: after a
 * restart the commands are gone and so are the handles.
 */
export class BackgroundProcesses {
  readonly #entries = new Map<string, Entry>();
  readonly #starting = new Set<{ readonly scope: Scope }>();

  /** Rejects with `too-many` when the owner, or all owners together, run as many as they may. */
  async start(scope: Scope, command: string, launch: () => Promise<Process>): Promise<BackgroundProcess> {
    this.#assertCapacity(scope);
    const reservation = { scope };
    this.#starting.add(reservation);
    try {
      const process = await launch();
      return this.#add({ id: randomBytes(4).toString('hex'), command, process, scope });
    } finally {
      this.#starting.delete(reservation);
    }
  }

  /** The owner's, oldest first. */
  list(scope: Scope): readonly BackgroundProcess[] {
    return this.#entriesOf(scope);
  }

  /** Throws `not-found`, also for a handle of somebody else. */
  require(scope: Scope, id: string): BackgroundProcess {
    const found = this.#entriesOf(scope).find((entry) => entry.id === id);
    if (found !== undefined) return found;
    throw new LangoError(
      'not-found',
      `id: there is no process "${id}"; exec_status without an id lists those there are. Processes end when the server restarts.`,
    );
  }

  #assertCapacity(scope: Scope): void {
    const running = [...this.#entries.values()].filter(({ end }) => end === undefined);
    const taken = [...running, ...this.#starting];
    const own = taken.filter((entry) => belongsTo(entry, scope));
    if (own.length >= RUNNING_PER_OWNER) {
      throw new LangoError(
        'too-many',
        `There are ${own.length} processes of yours running, as many as there may be; stop one with exec_stop first.`,
      );
    }
    if (taken.length < RUNNING_IN_ALL) return;
    throw new LangoError(
      'too-many',
      'As many processes run on this server as there may be; try again later.',
      {
        retryable: true,
      },
    );
  }

  #add(started: Pick<Entry, 'id' | 'command' | 'process' | 'scope'>): BackgroundProcess {
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
