import { errorText, LangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import { scopeKey, type NewEvent, type Scope } from '../core/task.js';
import type { TaskUseStore } from '../stores/tasks.js';

/** The interval at which the counts are written. After a crash, what was stored in the last interval is not counted. */
const WRITE_MS = 1_000;
/** A count that refuses is read again after this time, because tasks may have been removed. */
const REFUSAL_AGE_MS = 1_000;
/** The owners whose counts are kept in memory. */
const MOST_OWNERS = 10_000;
/** About the size of an event that only refers to those of another task. */
const REFERENCE_BYTES = 150;
const MIB = 1024 * 1024;

interface TaskDiskOptions {
  readonly use: TaskUseStore;
  /** The most bytes that the tasks of one owner take. */
  readonly limit: number;
  readonly logger: Logger;
}

interface OwnerUse {
  readonly scope: Scope;
  /** The bytes that are written, as of `readAt`. */
  written: number;
  readAt: number;
  added: number;
}

/** Limits what the tasks of each owner take in the database. Counts are of this process and, within a second, of the others. */
export class TaskDisk {
  readonly #options: TaskDiskOptions;
  readonly #owners = new Map<string, OwnerUse>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: TaskDiskOptions) {
    this.#options = options;
  }

  /** Admits a message of the owner. Rejects with `too-many` when their tasks take too much. */
  async admit(scope: Scope, message: unknown): Promise<void> {
    const use = this.#owners.get(scopeKey(scope));
    const isOld = !use || (this.isFull(scope) && performance.now() - use.readAt > REFUSAL_AGE_MS);
    if (isOld) {
      const { written, readAt } = { written: await this.#options.use.of(scope), readAt: performance.now() };
      Object.assign(this.#useOf(scope), { written, readAt });
    }
    if (this.isFull(scope)) throw this.#full('too-many');
    this.#count(scope, bytesOf(message));
  }

  isFull(scope: Scope): boolean {
    const use = this.#owners.get(scopeKey(scope));
    return use !== undefined && use.written + use.added >= this.#options.limit;
  }

  /** Appends events of a run. Rejects with `limit-reached` instead when the owner's tasks take too much: a run can still end. */
  async append(
    scope: Scope,
    events: readonly NewEvent[],
    append: (events: readonly NewEvent[]) => Promise<number>,
  ): Promise<number> {
    if (this.isFull(scope) && events.some(({ body }) => body.type !== 'run-start' && body.type !== 'run-end'))
      throw this.#full('limit-reached');
    const head = await append(events);
    const bytes = events.reduce((sum, event) => sum + storedBytes(event), 0);
    this.#count(scope, bytes);
    return head;
  }

  /** Writes the counts. Never rejects. */
  async settle(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const use of this.#owners.values()) {
      if (use.added > 0) await this.#write(use);
      else if (this.#owners.size > MOST_OWNERS) this.#owners.delete(scopeKey(use.scope));
    }
  }

  async #write(use: OwnerUse): Promise<void> {
    const { added } = use;
    try {
      use.written = await this.#options.use.add(use.scope, added);
      use.added -= added;
      use.readAt = performance.now();
    } catch (error) {
      this.#options.logger.warn('what tasks take in the database could not be counted', {
        error: errorText(error),
      });
      this.#writeLater();
    }
  }

  #count(scope: Scope, bytes: number): void {
    this.#useOf(scope).added += bytes;
    this.#writeLater();
  }

  #writeLater(): void {
    this.#timer ??= setTimeout(() => void this.settle(), WRITE_MS).unref();
  }

  #useOf({ tenant, owner }: Scope): OwnerUse {
    const key = scopeKey({ tenant, owner });
    const known = this.#owners.get(key) ?? { scope: { tenant, owner }, written: 0, readAt: 0, added: 0 };
    this.#owners.set(key, known);
    return known;
  }

  #full(code: 'too-many' | 'limit-reached'): LangoError {
    const most = Math.floor(this.#options.limit / MIB);
    return new LangoError(code, `The tasks of one user may take at most ${most} MB in the database.`, {
      hint: 'Delete tasks that are not needed any more (lango data forget). The operator of the server may raise disk.tasksMb.',
    });
  }
}

const bytesOf = (stored: unknown): number => Buffer.byteLength(JSON.stringify(stored));

/** An event that repeats those of another task is stored without their content. */
function storedBytes(event: NewEvent): number {
  return 'from' in event.body && event.body.from ? REFERENCE_BYTES : bytesOf(event);
}
