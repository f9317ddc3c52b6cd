import { oneLine } from '../../core/text.js';
import type { ConnectionFailure } from '../../http/browsing-proxy.js';

const NOTES_MAX = 12;
const NOTE_CHARACTERS = 300;

/** Collects what happened on a page since the last report: dialogs, windows, downloads, refused connections. */
export class PageNotes {
  #notes = new Set<string>();
  #left = 0;
  readonly #failures = new Map<string, ConnectionFailure['why']>();

  add(note: string): void {
    const text = oneLine(note).slice(0, NOTE_CHARACTERS);
    if (this.#notes.has(text)) return;
    if (this.#notes.size < NOTES_MAX) this.#notes.add(text);
    else this.#left += 1;
  }

  recordFailure({ host, why }: ConnectionFailure): void {
    if (this.#failures.size < NOTES_MAX || why === 'weight') this.#failures.set(host, why);
    if (why === 'private')
      this.add(`a connection to ${host} was refused: it has a private or loopback address`);
    if (why === 'weight') this.add('the page was cut off: it loads more than tools.browser.pageBytes');
  }

  /** The reason why a connection to this host (`name:port`) failed. */
  failureOf(host: string): ConnectionFailure['why'] | undefined {
    return this.#failures.get(host);
  }

  /** Returns all notes and clears them. */
  take(): readonly string[] {
    const notes = [...this.#notes, ...(this.#left > 0 ? [`${this.#left} more notes`] : [])];
    this.clear();
    return notes;
  }

  clear(): void {
    this.#notes.clear();
    this.#failures.clear();
    this.#left = 0;
  }
}
