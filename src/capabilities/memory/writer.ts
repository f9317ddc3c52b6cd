import type { Distiller } from '../../core/model.js';
import { errorText } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';
import type { MemoryStore, Observation, Reflection } from './memory-store.js';
import type { TaskStore } from '../../stores/tasks.js';
import { isTerminal, scopeKey, type Scope, type TaskRecord } from '../../core/task.js';
import { estimateTokens } from '../../core/text.js';
import { Deadline } from '../../core/time.js';
import { observe, reflect } from './observer.js';
import { toTranscripts, type TaskTranscript } from './transcript.js';

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

/** Writes observations and reflections after runs. */
export interface MemoryWriter {
  /** Tells the writer that a run of this task has ended. Returns at once and never throws. */
  runEnded(task: TaskRecord): void;
  /** Condenses all open observations. Resolves with undefined when none is open. */
  reflectNow(scope: Scope, signal: AbortSignal): Promise<Omit<Reflection, 'id'> | undefined>;
  /** Stops the current work, which a later run resumes. Resolves when nothing is running. */
  close(): Promise<void>;
}

/** Maximum events read from a session at once. If more are unobserved, the older part remains in the journal only. */
const MAX_EVENTS = 2_000;
const MAX_OBSERVATIONS = 1_000;
const OBSERVE_TIMEOUT_MS = 120_000;

/**
 * Creates a memory writer, which processes one session per owner at a time. The store records the last observed task, so
 * canceled work and a crash lose nothing: after the next run of the session, the writer resumes there.
 */
export function createMemoryWriter(options: MemoryWriterOptions): MemoryWriter {
  const { logger } = options;
  const closing = new AbortController();
  const pending = new Map<string, Promise<void>>();
  return {
    runEnded(task) {
      const owner = scopeKey(task);
      if (closing.signal.aborted || pending.has(owner)) return;
      const deadline = new Deadline(closing.signal).expect(OBSERVE_TIMEOUT_MS);
      const work = observeSession(task, options, deadline.signal)
        .then(() => condenseOlder(task, options, deadline.signal))
        .catch((error: unknown) => {
          if (!closing.signal.aborted)
            logger.warn('a conversation was not observed', { error: errorText(error) });
        })
        .finally(() => {
          deadline.end();
          pending.delete(owner);
        });
      pending.set(owner, work);
    },
    async reflectNow(scope, signal) {
      const open = await openObservations(scope, options);
      return open.length === 0 ? undefined : condense(scope, open, { ...options, signal });
    },
    async close() {
      closing.abort(new Error('the server stops'));
      await Promise.all(pending.values());
    },
  };
}

async function observeSession(
  task: TaskRecord,
  options: MemoryWriterOptions,
  signal: AbortSignal,
): Promise<void> {
  const { memory, tasks, observeTokens, distiller } = options;
  const { agent, contextId } = task;
  const after = await memory.observedUpTo(task, agent, contextId);
  const transcripts = await completedTranscripts(
    toTranscripts(await tasks.readSession(task, MAX_EVENTS, { after, unfinished: true })),
    task,
    tasks,
  );
  if (tokensOf(transcripts.map(({ text }) => text)) < observeTokens) return;
  const observations = await observe(transcripts, distiller, { scope: task, signal });
  const upTo = transcripts.at(-1)!.taskId;
  // The owner may have deleted the task meanwhile.
  if (await tasks.get(task, upTo))
    await memory.observe(task, { agent, contextId, after, upTo, observations });
}

/** The transcripts before the first unfinished task, which is observed once it is complete. */
async function completedTranscripts(
  transcripts: readonly TaskTranscript[],
  scope: TaskRecord,
  tasks: MemoryWriterOptions['tasks'],
): Promise<readonly TaskTranscript[]> {
  for (const [index, { taskId }] of transcripts.entries()) {
    const record = await tasks.get(scope, taskId);
    if (record && !isTerminal(record.state)) return transcripts.slice(0, index);
  }
  return transcripts;
}

/** Condenses the older half of the open observations, so that recent ones keep their full text. */
async function condenseOlder(scope: Scope, options: MemoryWriterOptions, signal: AbortSignal): Promise<void> {
  const open = await openObservations(scope, options);
  if (tokensOf(open.map(({ text }) => text)) < options.reflectTokens) return;
  await condense(scope, open.slice(0, Math.ceil(open.length / 2)), { ...options, signal });
}

/** Open observations, oldest first. */
async function openObservations(
  scope: Scope,
  { memory }: MemoryWriterOptions,
): Promise<readonly Observation[]> {
  return (await memory.observations(scope, { open: true, limit: MAX_OBSERVATIONS })).toReversed();
}

/** Resolves with undefined when another process condensed these observations meanwhile. */
async function condense(
  scope: Scope,
  observations: readonly Observation[],
  { memory, distiller, signal }: MemoryWriterOptions & { readonly signal: AbortSignal },
): Promise<Omit<Reflection, 'id'> | undefined> {
  const reflection = await reflect(observations, distiller, { scope, signal });
  const ids = observations.map(({ id }) => id);
  return (await memory.reflect(scope, reflection, ids)) ? reflection : undefined;
}

function tokensOf(texts: readonly string[]): number {
  return texts.reduce((total, text) => total + estimateTokens(text), 0);
}
