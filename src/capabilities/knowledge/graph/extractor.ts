import { errorText, isLangoError } from '../../../core/errors.js';
import type { ExtractionStore, UnreadDocument } from '../stores/extraction.js';
import type { CollectionFilter } from '../stores/library.js';
import type { Logger } from '../../../core/logger.js';
import type { Distiller } from '../../../core/model.js';
import { backoffMs, Deadline, pause } from '../../../core/time.js';
import { nameKey, type Triple } from '../stores/graph.js';
import { NAME_MAX, TRIPLES_MAX } from './index.js';

interface ExtractorOptions {
  readonly store: ExtractionStore;
  readonly distiller: Distiller;
  /** The collections whose documents are read. */
  readonly collections: CollectionFilter;
  /** Maximum characters read of one document. */
  readonly maxCharacters: number;
  /** Maximum calls of the model in any hour. */
  readonly callsPerHour: number;
  readonly logger: Logger;
}

const HOUR_MS = 60 * 60 * 1_000;
const CALL_MS = 120_000;
/** Pause while the model is unavailable; each pause is twice as long as the previous one. */
const FIRST_PAUSE_MS = 15_000;
const MAX_PAUSE_MS = 10 * 60 * 1_000;

const EXTRACT = `You fill a knowledge graph. Write down what the text states about things that have a name: systems, people, teams, places, files, dates.
One statement a line, as: subject | predicate | object
Name things as the text does, and the same thing always the same way. A predicate is a few words in lower case: depends on, owns, is part of, runs on,
rotates on. Only what the text states: nothing that you know besides, no opinions, and never a password, key or token. No lines when it states nothing.`;

/** Extracts triples from stored documents, one by one. The store records which are read, so a crash loses nothing. */
export class Extractor {
  readonly #options: ExtractorOptions;
  readonly #closing = new AbortController();
  /** Times of the calls in the last hour. */
  #calls: readonly number[] = [];
  #failures = 0;
  #isScheduled = false;
  #work = Promise.resolve();

  constructor(options: ExtractorOptions) {
    this.#options = options;
  }

  /** Schedules a pass over all unread documents. Returns at once and never throws. */
  wake(): void {
    if (this.#isScheduled || this.#closing.signal.aborted) return;
    this.#isScheduled = true;
    this.#work = this.#work
      .then(() => this.#readAll())
      .catch((error: unknown) => {
        if (this.#closing.signal.aborted) return;
        this.#options.logger.warn('documents were not read for the graph', { error: errorText(error) });
      });
  }

  /** Cancels the current call; its document is read again after the next start. Resolves when nothing is running. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the server stops'));
    await this.#work;
  }

  async #readAll(): Promise<void> {
    const { store, collections, maxCharacters } = this.#options;
    this.#isScheduled = false;
    for (;;) {
      this.#closing.signal.throwIfAborted();
      const unread = await store.next(collections, maxCharacters);
      if (!unread) return;
      await this.#read(unread);
    }
  }

  async #read(unread: UnreadDocument): Promise<void> {
    const { store, logger } = this.#options;
    try {
      await store.done(unread, await this.#extract(unread));
      this.#failures = 0;
    } catch (error) {
      this.#closing.signal.throwIfAborted();
      if (isLangoError(error, 'storage')) throw error;
      logger.warn('a document was not read for the graph', { error: errorText(error) });
      if (!isLangoError(error, 'unavailable')) return store.failed(unread);
      this.#failures += 1;
      await this.#pause(backoffMs(this.#failures, { firstMs: FIRST_PAUSE_MS, longestMs: MAX_PAUSE_MS }));
    }
  }

  async #extract({ tenant, owner, name, text }: UnreadDocument): Promise<readonly Triple[]> {
    const lines: string[] = [];
    for (const part of splitText(text)) {
      await this.#awaitRateLimit();
      using deadline = new Deadline(this.#closing.signal).expect(CALL_MS);
      const { signal } = deadline;
      const scope = { tenant, owner };
      const request = { scope, instruction: EXTRACT, text: `${name}\n\n${part}`, signal };
      lines.push(...(await this.#options.distiller.distill(request)));
    }
    return toTriples(lines);
  }

  async #awaitRateLimit(): Promise<void> {
    const { callsPerHour } = this.#options;
    this.#calls = this.#calls.filter((at) => at > Date.now() - HOUR_MS);
    const [oldest] = this.#calls;
    if (oldest !== undefined && this.#calls.length >= callsPerHour) {
      await this.#pause(oldest + HOUR_MS - Date.now());
      return this.#awaitRateLimit();
    }
    this.#calls = [...this.#calls, Date.now()];
  }

  async #pause(ms: number): Promise<void> {
    const { signal } = this.#closing;
    await pause(ms, { signal, ref: false });
    signal.throwIfAborted();
  }
}

/** Maximum characters per call of the model. */
const PART_CHARACTERS = 8_000;
const SEGMENTS = new RegExp(`.{1,${PART_CHARACTERS}}`, 'gsu');

/** Splits a text into parts of bounded size, between paragraphs where possible. */
function splitText(text: string): readonly string[] {
  const parts: string[] = [];
  for (const paragraph of text.split('\n\n').flatMap((one) => one.match(SEGMENTS) ?? [])) {
    const joined = `${parts.at(-1) ?? ''}\n\n${paragraph}`;
    if (parts.length > 0 && joined.length <= PART_CHARACTERS) parts[parts.length - 1] = joined;
    else parts.push(paragraph);
  }
  return parts.filter((part) => part.trim() !== '');
}

/** Parses the lines of the form "subject | predicate | object", each once, and ignores other lines. */
function toTriples(lines: readonly string[]): readonly Triple[] {
  const triples = lines.flatMap((line) => {
    const names = line
      .replace(/^[-*\s]+/, '')
      .split('|')
      .map((name) => name.trim());
    const [subject = '', predicate = '', object = ''] = names;
    const isTriple = names.length === 3 && names.every((name) => name !== '' && name.length <= NAME_MAX);
    return isTriple ? [{ subject, predicate, object }] : [];
  });
  const distinct = new Map(triples.map((one) => [Object.values(one).map(nameKey).join('\0'), one]));
  return [...distinct.values()].slice(0, TRIPLES_MAX);
}
