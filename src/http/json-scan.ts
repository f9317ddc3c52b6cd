import { LangoError } from '../core/errors.js';
import type { Json, JsonLimits, JsonObject } from '../core/json.js';
import { infiniteNumber, MAX_CONTAINERS, tooDeep, tooManyContainers, tooManyKeys } from '../core/json.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_E = 0x65;
const UPPER_E = 0x45;
const NUMBER_SIGNS: ReadonlySet<number | undefined> = new Set(Buffer.from('.eE+-'));

/**
 * Throws `invalid-input` for a JSON text beyond `limits`, in one pass over the bytes. Call it before `JSON.parse`, which
 * accepts depths that other code cannot process and turns large numbers into infinity. Does not check the syntax. Returns
 * the number of members in all objects of the text, duplicates included.
 */
export function assertJsonLimits(bytes: Buffer, limits: JsonLimits): number {
  const keys: number[] = [0];
  let members = 0;
  let containers = 0;
  let inText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (inText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inText = false;
      continue;
    }
    switch (byte) {
      case QUOTE:
        inText = true;
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (keys.length > limits.depth) throw tooDeep(limits.depth);
        if (++containers > MAX_CONTAINERS) throw tooManyContainers();
        keys.push(0);
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        // The parser refuses a surplus closing bracket.
        if (keys.length > 1) keys.pop();
        break;
      case COLON:
        members += 1;
        if (++keys[keys.length - 1]! > limits.keys) throw tooManyKeys(limits.keys);
        break;
      default:
        if (isDigit(byte)) at = assertNumber(bytes, at);
        break;
    }
  }
  return members;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** The most commas outside of texts in one response: about the number of its values. */
const MAX_COMMAS = 150_000;

/**
 * Counts the lists, objects and values of a response while it arrives, before a caller parses it: parsing many small ones
 * blocks the event loop. In an event stream each event counts by itself. Does not check the syntax.
 */
export class ValueCount {
  readonly #isEventStream: boolean;
  readonly #host: string;
  #containers = 0;
  #commas = 0;
  #inText = false;
  #isEscaped = false;
  #isLineEmpty = true;
  #previous = 0;

  constructor(host: string, isEventStream: boolean) {
    this.#host = host;
    this.#isEventStream = isEventStream;
  }

  /** Throws `too-large` when there are too many. */
  read(chunk: Uint8Array): void {
    for (const byte of chunk) {
      const isBreak = byte === LINE_FEED || byte === CARRIAGE_RETURN;
      if (this.#isEventStream && isBreak) this.#endLine(byte);
      else this.#readByte(byte);
      this.#previous = byte;
    }
  }

  /** An empty line ends an event. A text of JSON has no line breaks. */
  #endLine(byte: number): void {
    if (byte === LINE_FEED && this.#previous === CARRIAGE_RETURN) return;
    if (this.#isLineEmpty) this.#containers = this.#commas = 0;
    this.#isLineEmpty = true;
    this.#inText = this.#isEscaped = false;
  }

  #readByte(byte: number): void {
    this.#isLineEmpty = false;
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === QUOTE) this.#inText = !this.#inText;
    else if (this.#inText) this.#isEscaped = byte === BACKSLASH;
    else if ((byte === OPEN_ARRAY || byte === OPEN_OBJECT) && ++this.#containers > MAX_CONTAINERS)
      throw this.#tooMany(MAX_CONTAINERS, 'lists and objects');
    else if (byte === COMMA && ++this.#commas > MAX_COMMAS) throw this.#tooMany(MAX_COMMAS, 'values');
  }

  #tooMany(most: number, things: string): LangoError {
    const message = `The response of ${this.#host} has more than ${most} ${things}.`;
    return new LangoError('too-large', message, { hint: 'Request a smaller part of it.' });
  }
}

/** Counts the members of all objects in a parsed value. There are fewer than in its text if a name occurs twice. */
export function membersOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) count += membersOf(item);
    return count;
  }
  const object = value as JsonObject;
  for (const key in object) count += 1 + membersOf(object[key]!);
  return count;
}

/** Without an exponent, a number needs this many digits to be infinite. */
const INFINITE_DIGITS = 309;

/** Throws for a number that would become infinite. Returns the index of the number's last byte. */
function assertNumber(bytes: Buffer, start: number): number {
  let end = start + 1;
  let hasExponent = false;
  while (isDigit(bytes[end]) || NUMBER_SIGNS.has(bytes[end])) {
    hasExponent ||= bytes[end] === LOWER_E || bytes[end] === UPPER_E;
    end += 1;
  }
  const mayBeInfinite = hasExponent || end - start >= INFINITE_DIGITS;
  if (mayBeInfinite && Number(bytes.toString('latin1', start, end)) === Infinity) throw infiniteNumber();
  return end - 1;
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE;
