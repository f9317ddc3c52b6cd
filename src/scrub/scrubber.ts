import { noScrubber, type ScrubStream, type Scrubber, type SecretGuard } from '../core/secrets.js';
import { formsOf } from './secret-forms.js';
import { Unescaper } from './unescape.js';
import { compileWords, SKIPPED, WordReader } from './word-finder.js';
import type { Fold, FoundWord, WordAutomaton } from './word-finder.js';

/** A value to remove from texts, and its replacement. */
export interface HiddenValue {
  readonly value: string;
  readonly mask: string; // Replaces the plain value.
  readonly encodedMask?: string; // Replaces encoded forms of the value. Default: `mask`.
}

/** Compiles one automaton per family of forms, so the cost of a text does not depend on the number of values. */
export function compileScrubber(hidden: readonly HiddenValue[]): Scrubber {
  if (hidden.length === 0) return noScrubber;
  const masks = hidden.flatMap(({ mask, encodedMask }) => [mask, encodedMask ?? mask]);
  const forms = hidden.map(({ value }) => formsOf(value));
  const automaton = (name: keyof (typeof forms)[number], fold: Fold): WordAutomaton =>
    compileWords(
      forms.flatMap((each, index) =>
        each[name].map((text) => ({
          text,
          id: 2 * index + (name === 'plain' && isPlain(text, hidden[index]!) ? 0 : 1),
        })),
      ),
      fold,
    );
  const automata = [
    automaton('plain', (code) => code),
    automaton('base64', base64Character),
    automaton('hex', hexDigit),
    automaton('decimal', decimalDigit),
  ];
  const escaped = automaton('escaped', (code) => code);
  const stream = (): ScrubStream => new MaskingStream({ automata, escaped, masks });
  return {
    isEmpty: false,
    stream,
    text(text) {
      const whole = stream();
      return whole.push(text) + whole.end();
    },
  };
}

function isPlain(text: string, { value }: HiddenValue): boolean {
  return text === value || text === Buffer.from(value, 'utf8').toString('latin1');
}

interface Compiled {
  readonly automata: readonly WordAutomaton[];
  /** Reads what the escapes of a text stand for. */
  readonly escaped: WordAutomaton;
  readonly masks: readonly string[];
}

class MaskingStream implements ScrubStream {
  readonly #compiled: Compiled;
  #readers: readonly WordReader[] = [];
  #escaped!: WordReader;
  readonly #unescaper = new Unescaper((byte, start, end) => {
    const found = this.#escaped.read(byte, start, end);
    if (found) this.#found.push(found);
  });
  /** The text that has not been returned yet, and its position. */
  #pending = '';
  #base = 0;
  /** A returned mask covers the text up to here. */
  #maskedTo = 0;
  #found: FoundWord[] = [];

  constructor(compiled: Compiled) {
    this.#compiled = compiled;
    this.#begin();
  }

  push(chunk: string): string {
    const first = this.#base + this.#pending.length;
    this.#pending += chunk;
    let openSince = first + chunk.length;
    for (const reader of this.#readers) {
      for (let index = 0; index < chunk.length; index += 1) {
        const found = reader.read(chunk.charCodeAt(index), first + index);
        if (found) this.#found.push(found);
      }
      openSince = Math.min(openSince, reader.openSince ?? openSince);
    }
    for (let index = 0; index < chunk.length; index += 1)
      this.#unescaper.read(chunk.charCodeAt(index), first + index);
    const { openSince: escapeSince = openSince } = this.#unescaper;
    return this.#release(Math.min(openSince, escapeSince, this.#escaped.openSince ?? openSince));
  }

  end(): string {
    const end = this.#base + this.#pending.length;
    this.#unescaper.end(end);
    const rest = this.#release(end);
    this.#begin();
    return rest;
  }

  #begin(): void {
    this.#readers = this.#compiled.automata.map((words) => new WordReader(words));
    this.#escaped = new WordReader(this.#compiled.escaped);
  }

  /** Returns the text before `end`. Overlapping finds get one mask, that of the first and longest. */
  #release(end: number): string {
    const ready = this.#found.filter(({ start }) => start < end);
    if (ready.length > 0) this.#found = this.#found.filter(({ start }) => start >= end);
    ready.sort((a, b) => a.start - b.start || b.end - a.end);
    let released = '';
    let at = this.#base;
    const releaseTo = (position: number): void => {
      const from = Math.max(at, this.#maskedTo);
      if (from < position) released += this.#pending.slice(from - this.#base, position - this.#base);
      at = Math.max(at, position);
    };
    for (const { start, end: foundEnd, id } of ready) {
      if (start >= this.#maskedTo) {
        releaseTo(start);
        released += this.#compiled.masks[id]!;
      }
      this.#maskedTo = Math.max(this.#maskedTo, foundEnd);
    }
    releaseTo(end);
    this.#pending = this.#pending.slice(end - this.#base);
    this.#base = end;
    return released;
  }
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** Maps the URL alphabet to the standard one, and skips the line breaks that encoders insert. */
function base64Character(code: number): number {
  if (code === LINE_FEED || code === CARRIAGE_RETURN) return SKIPPED;
  if (code === 45) return 43; // "-" is "+"
  return code === 95 ? 47 : code; // "_" is "/"
}

const SEPARATORS: ReadonlySet<number> = new Set(
  [...' \t\r\n:%\\xX-,uU+{}&#;'].map((sign) => sign.charCodeAt(0)),
);

/** Maps "ab cd", "ab:cd", "%ab%cd", "\xab\xcd" and "&#xab;&#xcd;" to the same digits, and "\uabcd" to its own. */
function hexDigit(code: number): number {
  if (SEPARATORS.has(code)) return SKIPPED;
  return code >= 65 && code <= 70 ? code + 32 : code;
}

const DECIMAL_SEPARATORS: ReadonlySet<number> = new Set([...' \t\r\n&#;,'].map((sign) => sign.charCodeAt(0)));

/** Maps "&#103;&#104;" and "103, 104" to the same digits. */
function decimalDigit(code: number): number {
  return DECIMAL_SEPARATORS.has(code) ? SKIPPED : code;
}

const MASK = '[hidden]';

/** Makes a scrubber that hides these values. */
export function scrubberOf(values: readonly string[]): Scrubber {
  return compileScrubber(values.map((value) => ({ value, mask: MASK })));
}

/** Returns a guard whose scrubbers also hide what `further` hides, of every owner. */
export function alsoHiding(guard: SecretGuard, further: Scrubber): SecretGuard {
  if (further.isEmpty) return guard;
  return {
    scrubber: (scope) => both(guard.scrubber(scope), further),
    resolve: (scope, text, use) => guard.resolve(scope, text, use),
    check: (scope, text, use) => guard.check(scope, text, use),
  };
}

/** Makes a scrubber that applies `first` and then `second`. Both may learn further values. */
export function both(first: Scrubber, second: Scrubber): Scrubber {
  return {
    get isEmpty() {
      return first.isEmpty && second.isEmpty;
    },
    text: (text) => second.text(first.text(text)),
    stream() {
      const [before, after] = [first.stream(), second.stream()];
      return {
        push: (piece) => after.push(before.push(piece)),
        end: () => after.push(before.end()) + after.end(),
      };
    },
  };
}
