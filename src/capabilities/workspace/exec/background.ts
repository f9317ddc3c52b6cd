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
  readonly scope: Scope;
  /** Undefined while it runs. */
  end: (ExitStatus & { readonly at: number }) | undefined;
}

const RUNNING_PER_OWNER = 8;
const RUNNING_IN_ALL = 64;
/** Ended processes whose output stays readable; the oldest are dropped first. */
const ENDED_PER_OWNER = 8;
const ENDED_IN_ALL = 64;

/** The background processes of this server, in memory only: a restart ends the processes and forgets their ids. */
export class BackgroundProcesses {
  readonly #known = new Map<string, BackgroundProcess>();
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
      const id = randomBytes(4).toString('hex');
      const process = await launch();
      const started: BackgroundProcess = {
        ...{ id, ...what, process, scope },
        ...{ startedAt: Date.now(), end: undefined },
      };
      this.#known.set(id, started);
      process.ended.then(
        (status) => {
          started.end = { ...status, at: Date.now() };
          this.#dropOldest(this.list(scope), ENDED_PER_OWNER);
          this.#dropOldest([...this.#known.values()], ENDED_IN_ALL);
        },
        () => this.#known.delete(id),
      );
      return started;
    } finally {
      this.#starting.delete(reservation);
    }
  }

  /** Lists the owner's processes, oldest first. */
  list(scope: Scope): readonly BackgroundProcess[] {
    return [...this.#known.values()].filter((process) => belongsTo(process, scope));
  }

  /** Throws `not-found`, also for a process of another owner. */
  require(scope: Scope, id: string): BackgroundProcess {
    const found = this.#known.get(id);
    if (found && belongsTo(found, scope)) return found;
    const advice = 'Call the action status without an id to list the processes.';
    const problem = `id: there is no process "${id}". ${advice} A restart of the server ends all of them.`;
    throw new LangoError('not-found', problem);
  }

  #assertCapacity(scope: Scope): void {
    const running = [...this.#known.values()].filter(({ end }) => end === undefined);
    const taken = [...running, ...this.#starting];
    const own = taken.filter((process) => belongsTo(process, scope));
    if (own.length >= RUNNING_PER_OWNER) {
      const problem = `The limit of ${own.length} running processes for one user is reached.`;
      throw new LangoError('too-many', `${problem} Stop one with the action stop first.`);
    }
    if (taken.length < RUNNING_IN_ALL) return;
    const problem = 'The limit of running processes on this server is reached. Try again later.';
    throw new LangoError('too-many', problem, { retryable: true });
  }

  #dropOldest(processes: readonly BackgroundProcess[], max: number): void {
    const ended = processes.filter(({ end }) => end !== undefined);
    for (const { id } of ended.slice(0, -max)) this.#known.delete(id);
  }
}

function belongsTo(process: Pick<BackgroundProcess, 'scope'>, scope: Scope): boolean {
  return scopeKey(process.scope) === scopeKey(scope);
}
