/** Takes a byte of UTF-8, and the part of the text that stands for it. */
type TakeByte = (byte: number, start: number, end: number) => void;

/** The code of an ASCII character. */
const codeOf = (sign: string): number => sign.charCodeAt(0);
const [BACKSLASH, PERCENT, AMPERSAND, HASH] = [codeOf('\\'), codeOf('%'), codeOf('&'), codeOf('#')];
const [BRACE, CLOSING_BRACE, SEMICOLON] = [codeOf('{'), codeOf('}'), codeOf(';')];
const [PLUS, SPACE] = [codeOf('+'), codeOf(' ')];
const LAST_CHARACTER = 0x10ffff;
/** A longer sequence is no escape. */
const MAX_CHARACTERS = 16;
const MAX_NAME = 4;
const byCode = <Value>(signs: Readonly<Record<string, Value>>): ReadonlyMap<number, Value> =>
  new Map(Object.entries(signs).map(([sign, value]) => [codeOf(sign), value]));
const CONTROLS = byCode({ n: 10, r: 13, t: 9, b: 8, f: 12, v: 11 });
const NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }),
);

/** The digits of an escape: so many, or as many as stand before `until`. */
interface Digits {
  readonly radix: number;
  readonly count: number;
  readonly until?: number;
  /** Whether they are the number of a byte, and not of a character. */
  readonly isByte?: boolean;
}

const TWO_HEX: Digits = { radix: 16, count: 2, isByte: true };
const FOUR_HEX: Digits = { radix: 16, count: 4 };
const IN_BRACES: Digits = { radix: 16, count: Infinity, until: CLOSING_BRACE };
const OCTAL: Digits = { radix: 8, count: 3, isByte: true };
const REFERENCE: Digits = { radix: 10, count: Infinity, until: SEMICOLON };
const HEX_REFERENCE: Digits = { radix: 16, count: Infinity, until: SEMICOLON };
/** The letters between a backslash and digits. */
const AFTER_BACKSLASH = byCode<Digits>({ u: FOUR_HEX, U: { radix: 16, count: 8 }, x: TWO_HEX });

/**
 * Reads a text as the bytes of UTF-8 that its escapes stand for: those of JSON, programming languages, URLs and HTML, also
 * nested and between other characters. Texts that differ only in escapes give the same bytes, so backslashes are left out.
 */
export class Unescaper {
  readonly #take: TakeByte;
  /** The beginning of an escape that the text so far ends with, its position, and its digits. */
  readonly #held: number[] = [];
  #heldSince = 0;
  #digits: Digits | undefined;
  #value = 0;
  #count = 0;
  /** The first half of a surrogate pair (0 without one), and its position. */
  #high = 0;
  #highSince = 0;

  constructor(take: TakeByte) {
    this.#take = take;
  }

  /** The position since which the next character may change what the text stands for; undefined if it cannot. */
  get openSince(): number | undefined {
    if (this.#high > 0) return this.#highSince;
    return this.#held.length === 0 ? undefined : this.#heldSince;
  }

  read(code: number, position: number): void {
    if (this.#held.length === 0) this.#readCharacter(code, position, position + 1);
    else if (!this.#continues(code, position)) {
      this.#release(position);
      this.read(code, position);
    }
  }

  /** Ends the text, and begins another. */
  end(position: number): void {
    this.#release(position);
    this.#takeBytes([], position, position);
  }

  /** Reads one more character of the escape. Returns false if it is none of it. */
  #continues(code: number, position: number): boolean {
    if (this.#digits) return this.#readDigit(code, position);
    const sign = this.#held[0];
    if (sign === PERCENT) return this.#beginDigits(code, position, code === codeOf('u') ? FOUR_HEX : TWO_HEX);
    if (sign === AMPERSAND) return this.#readReference(code, position);
    const control = CONTROLS.get(code);
    if (control === undefined) return this.#beginDigits(code, position, AFTER_BACKSLASH.get(code) ?? OCTAL);
    this.#decode(control, position + 1);
    return true;
  }

  #readReference(code: number, position: number): boolean {
    const isNumber = this.#held[1] === HASH;
    if (isNumber)
      return this.#beginDigits(code, position, (code | 32) === codeOf('x') ? HEX_REFERENCE : REFERENCE);
    const isFirst = this.#held.length === 1;
    if ((isFirst && code === HASH) || (isLetter(code) && this.#held.length <= MAX_NAME))
      return this.#hold(code);
    const named = code === SEMICOLON ? NAMES.get(String.fromCharCode(...this.#held.slice(1))) : undefined;
    if (named !== undefined) this.#decode(codeOf(named), position + 1);
    return named !== undefined;
  }

  /** Begins digits with this character: the first of them, or the letter before them. */
  #beginDigits(code: number, position: number, digits: Digits): boolean {
    this.#digits = digits;
    this.#value = 0;
    this.#count = 0;
    const isLetterBefore =
      digits !== OCTAL && digits !== REFERENCE && !(digits === TWO_HEX && this.#held[0] === PERCENT);
    return isLetterBefore ? this.#hold(code) : this.#readDigit(code, position);
  }

  #readDigit(code: number, position: number): boolean {
    const { radix, count, until } = this.#digits!;
    const digit = digitOf(code);
    if (digit < radix) {
      this.#value = this.#value * radix + digit;
      this.#count += 1;
      if (this.#count < count) return this.#held.length < MAX_CHARACTERS && this.#hold(code);
    } else if (
      this.#count === 0 &&
      code === BRACE &&
      this.#digits === FOUR_HEX &&
      this.#held[0] === BACKSLASH
    ) {
      this.#digits = IN_BRACES;
      return this.#hold(code);
    } else if (code !== until || this.#count === 0) return false;
    if (this.#value > LAST_CHARACTER) return false;
    this.#decode(this.#value, position + 1);
    return true;
  }

  #hold(code: number): true {
    this.#held.push(code);
    return true;
  }

  /** Takes the whole escape, which may itself begin one. */
  #decode(value: number, end: number): void {
    const isByte = this.#digits?.isByte === true && value > 0x7f;
    this.#clear();
    if (isByte) this.#takeBytes([value], this.#heldSince, end);
    else this.#readCharacter(value, this.#heldSince, end);
  }

  /** Takes what is held as it is. Browsers read "&#65" without a semicolon. */
  #release(position: number): void {
    const [sign] = this.#held;
    if (this.#digits?.until === SEMICOLON && this.#count > 0 && this.#value <= LAST_CHARACTER) {
      this.#clear();
      this.#takeCharacter(this.#value, this.#heldSince, position);
      return;
    }
    for (let index = sign === BACKSLASH ? 1 : 0; index < this.#held.length; index += 1) {
      const at = index === 0 ? this.#heldSince : position - this.#held.length + index;
      this.#takeCharacter(this.#held[index]!, at, position - this.#held.length + index + 1);
    }
    this.#clear();
  }

  #clear(): void {
    this.#held.length = 0;
    this.#digits = undefined;
  }

  #readCharacter(character: number, start: number, end: number): void {
    if (character === BACKSLASH || character === PERCENT || character === AMPERSAND) {
      this.#held.push(character);
      this.#heldSince = start;
    } else this.#takeCharacter(character, start, end);
  }

  #takeCharacter(character: number, start: number, end: number): void {
    if (this.#high > 0 && character >= 0xdc00 && character < 0xe000) {
      const pair = 0x10000 + ((this.#high - 0xd800) << 10) + character - 0xdc00;
      this.#high = 0;
      this.#takeBytes(bytesOf(pair), this.#highSince, end);
    } else if (character >= 0xd800 && character < 0xdc00) {
      this.#takeBytes([], start, end);
      this.#high = character;
      this.#highSince = start;
    } else if (character < 0x80 && this.#high === 0) {
      this.#take(character === PLUS ? SPACE : character, start, end);
    } else this.#takeBytes(bytesOf(character), start, end);
  }

  /** Half a pair without its other half is a character by itself. */
  #takeBytes(bytes: readonly number[], start: number, end: number): void {
    if (this.#high > 0) {
      for (const byte of bytesOf(this.#high)) this.#take(byte, this.#highSince, this.#highSince + 1);
      this.#high = 0;
    }
    for (const byte of bytes) this.#take(byte, start, end);
  }
}

/** The bytes that a value and its escaped forms stand for, each as one character. */
export function unescaped(value: string): string {
  let bytes = '';
  const unescaper = new Unescaper((byte) => (bytes += String.fromCharCode(byte)));
  for (let index = 0; index < value.length; index += 1) unescaper.read(value.charCodeAt(index), index);
  unescaper.end(value.length);
  return bytes;
}

const isLetter = (code: number): boolean => code >= 97 && code <= 122;

/** The value of a digit in base 16; infinite for other characters. */
function digitOf(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  const letter = (code | 32) - 97;
  return letter >= 0 && letter < 6 ? letter + 10 : Infinity;
}

function bytesOf(character: number): readonly number[] {
  if (character < 0x80) return [character];
  const rest = (shift: number): number => 0x80 | ((character >> shift) & 0x3f);
  if (character < 0x800) return [0xc0 | (character >> 6), rest(0)];
  if (character < 0x10000) return [0xe0 | (character >> 12), rest(6), rest(0)];
  return [0xf0 | (character >> 18), rest(12), rest(6), rest(0)];
}
