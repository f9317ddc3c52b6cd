import { BoundedCache } from '../../core/bounded-cache.js';
import { errorText } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';
import type { Distiller } from '../../core/model.js';
import { isTerminal, scopeKey, type Scope, type TaskRecord } from '../../core/task.js';
import { oneLine, shorten } from '../../core/text.js';
import { Deadline } from '../../core/time.js';
import type { TaskStore } from '../../stores/tasks.js';
import type { MemoryStore, NewObservation, NewReflection, Observation } from './memory-store.js';
import { formatTime, tokensOf, toTranscripts, type TaskTranscript } from './transcript.js';

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

/** The author of observations when no model is configured. */
const RULES = 'rules';

const SENTENCE_MAX_LENGTH = 200;

const OBSERVE = `You keep the memory of an assistant. From a part of a conversation, note what will matter later: what the user wants, prefers,
decided or said about themselves and their work; what was done and what came of it; names, numbers, dates and places exactly as they stand.
One fact a line, each understandable by itself, newest last. Leave out greetings, what any assistant knows, and every password, key or token.`;

const REFLECT = `You keep the memory of an assistant. Condense these dated observations into fewer: join what belongs together, keep what still holds,
drop what was overtaken, and keep names, numbers and dates exactly. One line each, understandable by itself.`;

/**
 * The tokens of the complete tasks of a session up to a task. Some of them may have been noted or removed meanwhile: that
 * there is enough to note is decided by reading all of it.
 */
interface Counted {
  readonly upTo: string;
  readonly tokens: number;
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
    const { memory, tasks, observeTokens } = this.#options;
    const { agent, contextId } = task;
    const after = await memory.observedUpTo(task, agent, contextId);
    const session = JSON.stringify([scopeKey(task), agent, contextId]);
    let counted = this.#counted.take(session);
    let transcripts = await this.#transcriptsAfter(counted?.upTo ?? after, task);
    if (counted && counted.tokens + tokensOf(transcripts) >= observeTokens) {
      counted = undefined;
      transcripts = await this.#transcriptsAfter(after, task);
    }
    const tokens = (counted?.tokens ?? 0) + tokensOf(transcripts);
    const upTo = transcripts.at(-1)?.taskId ?? counted?.upTo;
    if (upTo === undefined) return;
    if (tokens < observeTokens) return this.#counted.set(session, { upTo, tokens });
    const observations = await this.#observe(transcripts, task, signal);
    // The owner may have deleted the task meanwhile.
    if (await tasks.get(task, upTo))
      await memory.observe(task, { agent, contextId, after, upTo, observations });
  }

  /** The transcripts before the first unfinished task, which is observed once it is complete. */
  async #transcriptsAfter(after: string | undefined, task: TaskRecord): Promise<readonly TaskTranscript[]> {
    const { tasks } = this.#options;
    const events = await tasks.readSession(task, MAX_EVENTS, { after, unfinished: true });
    const transcripts = toTranscripts(events);
    for (const [index, { taskId }] of transcripts.entries()) {
      const record = await tasks.get(task, taskId);
      if (record && !isTerminal(record.state)) return transcripts.slice(0, index);
    }
    return transcripts;
  }

  /** Makes observations. Without a distiller, fixed rules record each request and the start of its output. */
  async #observe(
    transcripts: readonly TaskTranscript[],
    scope: Scope,
    signal: AbortSignal,
  ): Promise<readonly NewObservation[]> {
    const { distiller } = this.#options;
    if (!distiller) {
      return transcripts.map((transcript) => {
        const { taskId, at, fromOutside } = transcript;
        return { text: summarizeByRule(transcript), at, tasks: [taskId, taskId], by: RULES, fromOutside };
      });
    }
    const text = transcripts.map((transcript) => transcript.text).join('\n\n');
    const lines = await distiller.distill({ scope, instruction: OBSERVE, text, signal });
    const { at, taskId: last } = transcripts.at(-1)!;
    const tasks = [transcripts[0]!.taskId, last] as const;
    const fromOutside = transcripts.some((transcript) => transcript.fromOutside);
    return lines.map((line) => ({ text: line, at, tasks, by: distiller.by, fromOutside }));
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

  /** Takes observations oldest first. Resolves with undefined when another process condensed them meanwhile. */
  async #condense(
    scope: Scope,
    observations: readonly Observation[],
    signal: AbortSignal,
  ): Promise<NewReflection | undefined> {
    const { memory, distiller } = this.#options;
    const dated = observations.map(({ at, text }) => `${formatTime(at)}: ${text}`);
    const request = { scope, instruction: REFLECT, text: dated.join('\n'), signal };
    const lines = distiller ? await distiller.distill(request) : dated.map(withoutOutput);
    const reflection = {
      text: lines.join('\n'),
      from: observations[0]!.at,
      to: observations.at(-1)!.at,
      by: distiller?.by ?? RULES,
      fromOutside: observations.some(({ fromOutside }) => fromOutside),
    };
    const ids = observations.map(({ id }) => id);
    return (await memory.reflect(scope, reflection, ids)) ? reflection : undefined;
  }
}

function summarizeByRule({ request, output }: TaskTranscript): string {
  const asked =
    request === '' ? 'The user sent something without text' : `The user asked: "${sentence(request)}"`;
  return output === ''
    ? `${asked}; there was no answer.`
    : `${asked}; the answer began: "${sentence(output)}"`;
}

/** The first sentence, shortened to the maximum length. */
function sentence(text: string): string {
  const line = oneLine(text);
  const end = /[.!?。！？](?=\s|$)/.exec(line);
  const first = end ? line.slice(0, end.index + 1) : line;
  return shorten(first, SENTENCE_MAX_LENGTH);
}

/** Without a model, a reflection keeps the requests and drops the outputs. */
function withoutOutput(line: string): string {
  return line.split('; the answer began: ')[0]!;
}
