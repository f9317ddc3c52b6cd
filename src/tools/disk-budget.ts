import { LangoError } from '../core/errors.js';
import { scopeKey, type Scope } from '../core/task.js';
import type { ToolContext } from '../core/tool.js';
import { freeBytes, measureFolders, type DiskUse } from './disk-use.js';

/** In bytes; `Infinity` for no limit. */
interface DiskLimits {
  /** The bytes in the folders of one owner. */
  readonly owner: number;
  /** The bytes that one task adds to them. */
  readonly task: number;
}

export interface DiskBudgetOptions {
  readonly limits: DiskLimits;
  /** Lists the folders that count for an owner. They need not exist. */
  readonly folders: (scope: Scope) => readonly string[];
  /** Whether these folders are the owner's alone. */
  readonly isApart: boolean;
}

/** The call that writes. */
export type Writer = Pick<ToolContext, 'tenant' | 'owner' | 'taskId'>;

/** A command that is under way. */
export interface CommandWatch {
  /** Why the command was stopped; undefined when it was not. */
  readonly problem: LangoError | undefined;
  /** Counts what the command has written. Call it after the end. Never rejects. */
  settle(): Promise<void>;
}

interface OwnerUse {
  bytes: number;
  /** Milliseconds since the epoch; 0 before the first measurement. */
  measuredAt: number;
  /** How long the last measurement took. */
  tookMs: number;
  measuring: Promise<void> | undefined;
}

const MIB = 1024 * 1024;
/** A count is measured again, beside the work, when it is older than this, and than 20 times what measuring takes. */
const COUNT_AGE_MS = 60_000;
const COUNT_AGE_FACTOR = 20;
/** Nobody is refused on a count that is older. */
const REFUSAL_AGE_MS = 1_000;
const WATCH_MS = 100;
/** The bytes that a command may write without being measured at its end. */
const UNMEASURED_BYTES = 4 * MIB;
/** File systems stamp changes with a clock that lags by a few milliseconds. */
const CLOCK_LAG_MS = 20;
/** The owners and the tasks whose count is kept. The oldest counts are dropped first. */
const COUNTS_MAX = 10_000;

/**
 * Limits what owners and their tasks write to the disk. Counts what tools write, and measures the folders of an owner now
 * and then, never at each write. The count of a task does not outlive the process.
 */
export class DiskBudget {
  readonly #options: DiskBudgetOptions;
  readonly #owners = new Map<string, OwnerUse>();
  readonly #tasks = new Map<string, number>();

  constructor(options: DiskBudgetOptions) {
    this.#options = options;
  }

  /** Runs a work that adds `bytes`. Rejects with `limit-reached`, before the work begins, when they are too many. */
  async spend<Result>(writer: Writer, bytes: number, work: () => Promise<Result>): Promise<Result> {
    if (bytes > 0) await this.#assertRoom(writer, bytes);
    this.add(writer, bytes);
    try {
      return await work();
    } catch (error) {
      this.add(writer, -bytes);
      throw error;
    }
  }

  /** Counts bytes that were written or, below zero, removed. */
  add(writer: Writer, bytes: number): void {
    this.#addToTask(writer, bytes);
    this.#useOf(writer).bytes += bytes;
  }

  /** Resolves with the bytes that a command may write: more than 0. Rejects with `limit-reached` when there are none. */
  async room(writer: Writer): Promise<number> {
    await this.#assertRoom(writer, 1);
    return this.#left(writer);
  }

  /**
   * Watches what a command writes to the folders, and calls `stop` once it is too much. What a command does between two
   * looks is seen at the next one.
   */
  async watch(writer: Writer, stop: () => void): Promise<CommandWatch> {
    const folders = this.#options.folders(writer);
    const before = await freeBytes(folders);
    const since = Date.now() - CLOCK_LAG_MS;
    let charged = 0;
    let ofOthers = 0;
    let problem: LangoError | undefined;
    const look = async (unmeasured: number): Promise<void> => {
      const drop = before - (await freeBytes(folders));
      if (drop - charged - ofOthers > Math.min(unmeasured, this.#left(writer))) {
        const { fresh } = await this.#measure(writer, { since, enough: drop });
        const written = Math.min(drop, fresh);
        ofOthers = drop - written;
        this.#addToTask(writer, Math.max(0, written - charged));
        charged = Math.max(charged, written);
      } else if (this.#isOld(writer)) {
        // What somebody else frees meanwhile hides what the command takes.
        await this.#recount(writer);
      } else return;
      problem ??= this.#problem(writer, 0);
      if (problem !== undefined) stop();
    };
    let looking: Promise<void> | undefined;
    const timer = setInterval(() => {
      looking ??= look(Infinity)
        .catch(() => undefined)
        .finally(() => (looking = undefined));
    }, WATCH_MS).unref();
    return {
      get problem() {
        return problem;
      },
      settle: async () => {
        clearInterval(timer);
        await looking;
        await look(UNMEASURED_BYTES).catch(() => undefined);
      },
    };
  }

  #addToTask({ taskId }: Writer, bytes: number): void {
    keep(this.#tasks, taskId, Math.max(0, (this.#tasks.get(taskId) ?? 0) + bytes));
  }

  #left(writer: Writer): number {
    const { limits } = this.#options;
    const ofTask = limits.task - (this.#tasks.get(writer.taskId) ?? 0);
    return Math.max(0, Math.min(ofTask, limits.owner - this.#useOf(writer).bytes));
  }

  async #assertRoom(writer: Writer, bytes: number): Promise<void> {
    const use = this.#useOf(writer);
    const { owner } = this.#options.limits;
    if (owner !== Infinity) {
      const age = Date.now() - use.measuredAt;
      const isFull = use.bytes + bytes > owner;
      if (use.measuredAt === 0 || (isFull && age > Math.max(REFUSAL_AGE_MS, use.tookMs))) {
        await this.#recount(writer);
      } else if (age > Math.max(COUNT_AGE_MS, COUNT_AGE_FACTOR * use.tookMs)) {
        this.#recount(writer).catch(() => undefined);
      }
    }
    const problem = this.#problem(writer, bytes);
    if (problem !== undefined) throw problem;
  }

  #problem(writer: Writer, more: number): LangoError | undefined {
    const { limits } = this.#options;
    if ((this.#tasks.get(writer.taskId) ?? 0) + more > limits.task) {
      return full('One task may add', limits.task, 'disk.taskMb');
    }
    if (this.#useOf(writer).bytes + more > limits.owner) {
      return full('The files of one user may take', limits.owner, 'disk.ownerMb');
    }
    return undefined;
  }

  /** Whether the owner's folders can be measured again without taking more than a twentieth of the time. */
  #isOld(writer: Writer): boolean {
    const { measuredAt, tookMs } = this.#useOf(writer);
    if (this.#options.limits.owner === Infinity) return false;
    return Date.now() - measuredAt > Math.max(REFUSAL_AGE_MS, COUNT_AGE_FACTOR * tookMs);
  }

  #recount(writer: Writer): Promise<void> {
    const use = this.#useOf(writer);
    use.measuring ??= this.#measure(writer, { since: Infinity, enough: 0 })
      .then(() => undefined)
      .finally(() => (use.measuring = undefined));
    return use.measuring;
  }

  /** Measures until `enough` fresh bytes are found and, with a limit for the owner, all are counted or too many. */
  async #measure(writer: Writer, { since, enough }: { since: number; enough: number }): Promise<DiskUse> {
    const { limits, folders, isApart } = this.#options;
    const use = this.#useOf(writer);
    const { bytes } = use;
    const begun = Date.now();
    const found = await measureFolders(folders(writer), {
      since,
      opensClosed: isApart,
      isEnough: (soFar) => soFar.fresh >= enough && (limits.owner === Infinity || soFar.bytes > limits.owner),
    });
    if (limits.owner === Infinity) return found;
    // Writes of tools that were counted meanwhile may be missing in the measurement.
    use.bytes = found.bytes + Math.max(0, use.bytes - bytes);
    use.measuredAt = Date.now();
    use.tookMs = use.measuredAt - begun;
    return found;
  }

  #useOf(scope: Scope): OwnerUse {
    const key = scopeKey(scope);
    const known = this.#owners.get(key);
    if (known !== undefined) return known;
    const fresh: OwnerUse = { bytes: 0, measuredAt: 0, tookMs: 0, measuring: undefined };
    keep(this.#owners, key, fresh);
    return fresh;
  }
}

function full(what: string, limit: number, setting: string): LangoError {
  const most = `${what} at most ${Math.floor(limit / MIB)} MB`;
  return new LangoError('limit-reached', `The disk budget is used up: ${most}.`, {
    hint: `Delete files that are not needed any more with fs_delete. The operator of the server may raise ${setting}.`,
  });
}

function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= COUNTS_MAX) return;
    map.delete(oldest);
  }
}
