import { BoundedCache } from '../../core/bounded-cache.js';
import { errorText } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';
import type { Distiller } from '../../core/model.js';
import { isTerminal, scopeKey, type Scope, type TaskRecord } from '../../core/task.js';
import { Deadline } from '../../core/time.js';
import type { TaskStore } from '../../stores/tasks.js';
import type { MemoryStore, NewReflection, Observation } from './memory-store.js';
import { observe, reflect } from './observer.js';
import { tokensOf, toTranscripts, type TaskTranscript } from './transcript.js';

export interface MemoryWriterOptions {
  readonly memory: MemoryStore;
  readonly tasks: Pick<TaskStore, 'get' | 'readSession'>;
  /** Undefined: fixed rules make the observations. */
  readonly distiller: Distiller | undefined;
  /** Unobserved messages are observed once they exceed this number of (estimated) tokens. */
  readonly observeTokens: number;
  /** Open observations are condensed once they exceed this number of tokens. */
  readonly reflectTokens: number;
  readonly logger: Logger;
}

/** Maximum events read from a session at once. If more are unobserved, the older part remains in the journal only. */
const MAX_EVENTS = 2_000;
const MAX_OBSERVATIONS = 1_000;
const OBSERVE_TIMEOUT_MS = 120_000;
const MAX_COUNTED = 1_000;

/**
 * The tokens of the complete tasks of a session up to a task. Some of them may have been noted or removed meanwhile: that
 * there is enough to note is decided by reading all of it.
 */
interface Counted {
  readonly upTo: string;
  readonly tokens: number;
}

interface Unobserved {
  readonly after: string | undefined;
  readonly transcripts: readonly TaskTranscript[];
  readonly signal: AbortSignal;
}

/**
 * Writes observations and reflections after runs, for one session per owner at a time. The store records the last observed
 * task, so canceled work and a crash lose nothing: after the next run of the session, the writer resumes there.
 */
export class MemoryWriter {
  readonly #options: MemoryWriterOptions;
  readonly #closing = new AbortController();
  /** Work in the background, by owner. */
  readonly #pending = new Map<string, Promise<void>>();
  /** By session: without it, each run would read again all that is not observed yet. */
  readonly #counted = new BoundedCache<string, Counted>(MAX_COUNTED);

  constructor(options: MemoryWriterOptions) {
    this.#options = options;
  }

  /** Tells the writer that a run of this task has ended. Returns at once and never throws. */
  runEnded(task: TaskRecord): void {
    const owner = scopeKey(task);
    const { signal } = this.#closing;
    if (signal.aborted || this.#pending.has(owner)) return;
    const deadline = new Deadline(signal).expect(OBSERVE_TIMEOUT_MS);
    const work = this.#observeSession(task, deadline.signal)
      .then(() => this.#condenseOlder(task, deadline.signal))
      .catch((error: unknown) => {
        if (signal.aborted) return;
        this.#options.logger.warn('a conversation was not observed', { error: errorText(error) });
      })
      .finally(() => {
        deadline.end();
        this.#pending.delete(owner);
      });
    this.#pending.set(owner, work);
  }

  /** Condenses all open observations. Resolves with undefined when none is open. */
  async reflectNow(scope: Scope, signal: AbortSignal): Promise<NewReflection | undefined> {
    const open = await this.#openObservations(scope);
    return open.length === 0 ? undefined : this.#condense(scope, open, signal);
  }

  /** Stops the current work, which a later run resumes. Resolves when nothing is running. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the server stops'));
    await Promise.all(this.#pending.values());
  }

  async #observeSession(task: TaskRecord, signal: AbortSignal): Promise<void> {
    const { agent, contextId } = task;
    const after = await this.#options.memory.observedUpTo(task, agent, contextId);
    const session = JSON.stringify([scopeKey(task), agent, contextId]);
    for (let counted = this.#counted.take(session); ; counted = undefined) {
      const transcripts = await this.#transcriptsAfter(counted?.upTo ?? after, task);
      const tokens = (counted?.tokens ?? 0) + tokensOf(transcripts);
      if (tokens < this.#options.observeTokens) {
        const upTo = transcripts.at(-1)?.taskId ?? counted?.upTo;
        if (upTo !== undefined) this.#counted.set(session, { upTo, tokens });
        return;
      }
      if (!counted) return this.#observe(task, { after, transcripts, signal });
    }
  }

  async #observe(task: TaskRecord, { after, transcripts, signal }: Unobserved): Promise<void> {
    const { memory, tasks, distiller } = this.#options;
    const { agent, contextId } = task;
    const observations = await observe(transcripts, distiller, { scope: task, signal });
    const upTo = transcripts.at(-1)!.taskId;
    // The owner may have deleted the task meanwhile.
    if (await tasks.get(task, upTo))
      await memory.observe(task, { agent, contextId, after, upTo, observations });
  }

  async #transcriptsAfter(after: string | undefined, task: TaskRecord): Promise<readonly TaskTranscript[]> {
    const events = await this.#options.tasks.readSession(task, MAX_EVENTS, { after, unfinished: true });
    return this.#completed(toTranscripts(events), task);
  }

  /** The transcripts before the first unfinished task, which is observed once it is complete. */
  async #completed(transcripts: readonly TaskTranscript[], scope: Scope): Promise<readonly TaskTranscript[]> {
    for (const [index, { taskId }] of transcripts.entries()) {
      const record = await this.#options.tasks.get(scope, taskId);
      if (record && !isTerminal(record.state)) return transcripts.slice(0, index);
    }
    return transcripts;
  }

  /** Condenses the older half of the open observations, so that recent ones keep their full text. */
  async #condenseOlder(scope: Scope, signal: AbortSignal): Promise<void> {
    const open = await this.#openObservations(scope);
    if (tokensOf(open) < this.#options.reflectTokens) return;
    await this.#condense(scope, open.slice(0, Math.ceil(open.length / 2)), signal);
  }

  /** Open observations, oldest first. */
  async #openObservations(scope: Scope): Promise<readonly Observation[]> {
    const query = { open: true, limit: MAX_OBSERVATIONS };
    return (await this.#options.memory.observations(scope, query)).toReversed();
  }

  /** Resolves with undefined when another process condensed these observations meanwhile. */
  async #condense(
    scope: Scope,
    observations: readonly Observation[],
    signal: AbortSignal,
  ): Promise<NewReflection | undefined> {
    const { memory, distiller } = this.#options;
    const reflection = await reflect(observations, distiller, { scope, signal });
    const ids = observations.map(({ id }) => id);
    return (await memory.reflect(scope, reflection, ids)) ? reflection : undefined;
  }
}
