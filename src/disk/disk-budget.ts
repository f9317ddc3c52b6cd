import { BoundedCache } from '../core/bounded-cache.js';
import { LangoError } from '../core/errors.js';
import { scopeKey, type Scope } from '../core/task.js';
import type { ToolContext } from '../core/tool.js';
import { freeBytes, measureFolders, type DiskUse } from './disk-use.js';

export interface DiskBudgetOptions {
  /** The bytes in the folders of one owner, and those that one task adds to them; `Infinity` for no limit. */
  readonly limits: Readonly<{ owner: number; task: number }>;
  /** Lists the folders that count for an owner. They need not exist. */
  readonly folders: (scope: Scope) => readonly string[];
  /** Whether each owner has folders that no other owner uses. */
  readonly isApart: boolean;
}

/** The call that writes. */
export type Writer = Pick<ToolContext, 'tenant' | 'owner' | 'taskId'>;

interface OwnerUse {
  bytes: number;
  measuredAt: number; // Milliseconds since the epoch; 0 before the first measurement.
  tookMs: number;
  measuring?: Promise<void> | undefined;
}

const MIB = 1024 * 1024;
/** An owner's folders are measured again in the background when the count is older than this and than 20 measurements. */
const COUNT_AGE_MS = 60_000;
const COUNT_AGE_FACTOR = 20;
/** A write is refused only by a count that is at most this old. */
const REFUSAL_AGE_MS = 1_000;
const WATCH_MS = 100;
/** The bytes that a command may write without being measured at its end. */
const UNMEASURED_BYTES = 4 * MIB;
/** File systems stamp changes with a clock that lags by a few milliseconds. */
const CLOCK_LAG_MS = 20;
/** Maximum counts of owners, and of tasks, in memory. The oldest are dropped first. */
const COUNTS_MAX = 10_000;

/**
 * Limits the bytes that owners and their tasks write to the disk. Counts each write of a tool, and measures the folders
 * of an owner from time to time, not at each write. A restart sets the counts of tasks to 0.
 */
export class DiskBudget {
  readonly #options: DiskBudgetOptions;
  readonly #owners = new BoundedCache<string, OwnerUse>(COUNTS_MAX);
  readonly #tasks = new BoundedCache<string, number>(COUNTS_MAX);

  constructor(options: DiskBudgetOptions) {
    this.#options = options;
  }

  /** Runs `work`, which adds `bytes`. Rejects with `limit-reached` before it begins when they exceed a limit. */
  async spend<Result>(writer: Writer, bytes: number, work: () => Promise<Result>): Promise<Result> {
    if (bytes > 0) {
      await this.#refresh(writer, bytes);
      // Nothing waits between the check and the count, so that writes at the same time share one rest.
      this.#assertRemaining(writer, bytes);
    }
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
  async remainingBytes(writer: Writer): Promise<number> {
    await this.#refresh(writer, 1);
    this.#assertRemaining(writer, 1);
    return this.#remaining(writer);
  }

  /** Calls `stop` once a command exceeds a limit. Measures at intervals, so the command may write more within one. */
  async watch(writer: Writer, stop: () => void) {
    const folders = this.#options.folders(writer);
    const before = await freeBytes(folders);
    const since = Date.now() - CLOCK_LAG_MS;
    let charged = 0;
    let byOthers = 0;
    let problem: LangoError | undefined;
    const check = async (unmeasured: number): Promise<void> => {
      const drop = before - (await freeBytes(folders));
      if (drop - charged - byOthers > Math.min(unmeasured, this.#remaining(writer))) {
        const { fresh } = await this.#measure(writer, { since, enough: drop });
        const written = Math.min(drop, fresh);
        byOthers = drop - written;
        this.#addToTask(writer, Math.max(0, written - charged));
        charged = Math.max(charged, written);
      } else if (this.#isOld(writer)) {
        // Free space shows no drop when another program deletes as much as the command writes.
        await this.#recount(writer);
      } else return;
      problem ??= this.#problem(writer, 0);
      if (problem !== undefined) stop();
    };
    let checking: Promise<void> | undefined;
    const timer = setInterval(() => {
      checking ??= check(Infinity)
        .catch(() => undefined)
        .finally(() => (checking = undefined));
    }, WATCH_MS).unref();
    return {
      /** The exceeded limit for which the command was stopped, if any. */
      get problem() {
        return problem;
      },
      /** Ends the watch and counts the last writes. Call it after the command has ended. Never rejects. */
      settle: async () => {
        clearInterval(timer);
        await checking;
        await check(UNMEASURED_BYTES).catch(() => undefined);
      },
    };
  }

  #addToTask({ taskId }: Writer, bytes: number): void {
    this.#tasks.set(taskId, Math.max(0, (this.#tasks.get(taskId) ?? 0) + bytes));
  }

  #remaining(writer: Writer): number {
    const { limits } = this.#options;
    const ofTask = limits.task - (this.#tasks.get(writer.taskId) ?? 0);
    return Math.max(0, Math.min(ofTask, limits.owner - this.#useOf(writer).bytes));
  }

  /** Measures the owner's folders again where the count is too old to refuse or to permit `more` bytes. */
  async #refresh(writer: Writer, more: number): Promise<void> {
    const use = this.#useOf(writer);
    const { owner } = this.#options.limits;
    if (owner === Infinity) return;
    const age = Date.now() - use.measuredAt;
    const isFull = use.bytes + more > owner;
    if (use.measuredAt === 0 || (isFull && age > Math.max(REFUSAL_AGE_MS, use.tookMs))) {
      await this.#recount(writer);
    } else if (age > Math.max(COUNT_AGE_MS, COUNT_AGE_FACTOR * use.tookMs)) {
      this.#recount(writer).catch(() => undefined);
    }
  }

  #assertRemaining(writer: Writer, more: number): void {
    const problem = this.#problem(writer, more);
    if (problem) throw problem;
  }

  #problem(writer: Writer, more: number): LangoError | undefined {
    const { limits } = this.#options;
    if ((this.#tasks.get(writer.taskId) ?? 0) + more > limits.task) {
      return budgetExceeded('One task may add', limits.task, 'disk.taskMb');
    }
    if (this.#useOf(writer).bytes + more > limits.owner) {
      return budgetExceeded('The files of one user may take', limits.owner, 'disk.ownerMb');
    }
    return undefined;
  }

  /** Whether the count is old enough that measuring again takes at most a twentieth of the time. */
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

  /** Measures the owner's folders, until `enough` fresh bytes are found and a limit of the owner is exceeded. */
  async #measure(writer: Writer, { since, enough }: { since: number; enough: number }): Promise<DiskUse> {
    const { limits, folders, isApart } = this.#options;
    const use = this.#useOf(writer);
    const { bytes } = use;
    const begun = Date.now();
    const found = await measureFolders(folders(writer), {
      since,
      opensUnreadable: isApart,
      isEnough: (soFar) => soFar.fresh >= enough && (limits.owner === Infinity || soFar.bytes > limits.owner),
    });
    if (limits.owner === Infinity) return found;
    // The measurement may miss what tools wrote while it ran.
    use.bytes = found.bytes + Math.max(0, use.bytes - bytes);
    use.measuredAt = Date.now();
    use.tookMs = use.measuredAt - begun;
    return found;
  }

  #useOf(scope: Scope): OwnerUse {
    const key = scopeKey(scope);
    const known = this.#owners.get(key);
    if (known !== undefined) return known;
    const fresh: OwnerUse = { bytes: 0, measuredAt: 0, tookMs: 0 };
    this.#owners.set(key, fresh);
    return fresh;
  }
}

function budgetExceeded(what: string, limit: number, setting: string): LangoError {
  const most = `${what} at most ${Math.floor(limit / MIB)} MB`;
  return new LangoError('limit-reached', `The disk budget is used up: ${most}.`, {
    hint: `Delete files that are not needed any more with fs_delete. The operator of the server may raise ${setting}.`,
  });
}
