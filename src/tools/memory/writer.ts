import type { Distiller } from '../../core/model.js';
import { errorText } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';
import type { MemoryStore, Observation, Reflection } from '../../core/memory.js';
import type { TaskStore } from '../../core/store.js';
import { isTerminal, scopeKey, type Scope, type TaskRecord } from '../../core/task.js';
import { estimateTokens } from '../../core/text.js';
import { observe, reflect } from './observer.js';
import { toTranscripts, type TaskTranscript } from './transcript.js';

export interface MemoryWriterOptions {
  readonly memory: MemoryStore;
  readonly tasks: Pick<TaskStore, 'get' | 'readSession'>;
  /** Undefined: plain rules do it. */
  readonly distiller: Distiller | undefined;
  /** Messages not yet observed are observed from so many (estimated) tokens on. */
  readonly observeTokens: number;
  /** Observations are condensed from so many tokens on. */
  readonly reflectTokens: number;
  readonly logger: Logger;
}

/** Observes conversations after their runs. */
export interface MemoryWriter {
  /** Word that a run of this task is over. Returns at once and never throws. */
  runEnded(task: TaskRecord): void;
  /** Condenses everything that is open; undefined when nothing is. */
  reflectNow(scope: Scope, signal: AbortSignal): Promise<Omit<Reflection, 'id'> | undefined>;
  /** Gives up what is under way: it is done after a later run. Resolves when nothing is. */
  close(): Promise<void>;
}

/** What one work reads of a session at most: with more unobserved, the older part is left to the journal. */
const EVENTS_MAX = 2_000;
const OBSERVATIONS_MAX = 1_000;
const TIME_MS = 120_000;

/**
 * Everything that is kept goes by a mark in the store, so that a work that is given up, or a server that dies,
 * loses nothing: the next run of the session has it looked at again. One work at a time for each owner.
 */
export function createMemoryWriter(options: MemoryWriterOptions): MemoryWriter {
  const { logger } = options;
  const closing = new AbortController();
  const pending = new Map<string, Promise<void>>();
  return {
    runEnded(task) {
      const owner = scopeKey(task);
      if (closing.signal.aborted || pending.has(owner)) return;
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(TIME_MS)]);
      const work = observeSession(task, options, signal)
        .then(() => condenseOlder(task, options, signal))
        .catch((error: unknown) => {
          if (!closing.signal.aborted)
            logger.warn('a conversation was not observed', { error: errorText(error) });
        })
        .finally(() => pending.delete(owner));
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
    toTranscripts(await tasks.readSession(task, EVENTS_MAX, after)),
    task,
    tasks,
  );
  if (tokensOf(transcripts.map(({ text }) => text)) < observeTokens) return;
  const observations = await observe(transcripts, distiller, signal);
  const upTo = transcripts.at(-1)!.taskId;
  // It may have been forgotten meanwhile.
  if (await tasks.get(task, upTo))
    await memory.observe(task, { agent, contextId, after, upTo, observations });
}

/** Up to the first that still goes on: it is observed when it is whole. */
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

/** The older half of what is open, so that what is fresh stays as it was noted. */
async function condenseOlder(scope: Scope, options: MemoryWriterOptions, signal: AbortSignal): Promise<void> {
  const open = await openObservations(scope, options);
  if (tokensOf(open.map(({ text }) => text)) < options.reflectTokens) return;
  await condense(scope, open.slice(0, Math.ceil(open.length / 2)), { ...options, signal });
}

/** Oldest first. */
async function openObservations(
  scope: Scope,
  { memory }: MemoryWriterOptions,
): Promise<readonly Observation[]> {
  return (await memory.observations(scope, { open: true, limit: OBSERVATIONS_MAX })).toReversed();
}

/** Undefined when somebody else condensed them meanwhile. */
async function condense(
  scope: Scope,
  observations: readonly Observation[],
  { memory, distiller, signal }: MemoryWriterOptions & { readonly signal: AbortSignal },
): Promise<Omit<Reflection, 'id'> | undefined> {
  const reflection = await reflect(observations, distiller, signal);
  const ids = observations.map(({ id }) => id);
  return (await memory.reflect(scope, reflection, ids)) ? reflection : undefined;
}

function tokensOf(texts: readonly string[]): number {
  return texts.reduce((total, text) => total + estimateTokens(text), 0);
}
