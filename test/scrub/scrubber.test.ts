import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ESCAPES } from '../../lab/abuse/reflections.js';
import { compileScrubber } from '../../src/scrub/scrubber.js';
import { scrubData } from '../../src/scrub/data.js';

const MASK = '***';

/** The forms in which a value may appear in a text, for a reader who wants it. */
const ENCODINGS: Readonly<Record<string, (value: string) => string>> = {
  plain: (value) => value,
  json: (value) => JSON.stringify({ value }),
  'json in json': (value) => JSON.stringify(JSON.stringify({ value })),
  url: (value) => `https://example.com/?token=${encodeURIComponent(value)}&x=1`,
  form: (value) => new URLSearchParams({ value }).toString(),
  hex: (value) => Buffer.from(value).toString('hex'),
  'hex in capitals': (value) => Buffer.from(value).toString('hex').toUpperCase(),
  'hex with colons': (value) => Buffer.from(value).toString('hex').match(/../g)!.join(':'),
  'percent signs': (value) => `%${Buffer.from(value).toString('hex').match(/../g)!.join('%')}`,
  'base64 at 0': (value) => Buffer.from(`${value}tail`).toString('base64'),
  'base64 at 1': (value) => Buffer.from(`a${value}tail`).toString('base64'),
  'base64 at 2': (value) => Buffer.from(`ab${value}`).toString('base64'),
  'base64url at 1': (value) => Buffer.from(`x${value}?>`).toString('base64url'),
  'escapes of JSON for each character': (value) =>
    unitsOf(value)
      .map((unit) => `\\u${unit}`)
      .join(''),
  'escapes in upper case': (value) =>
    unitsOf(value)
      .map((unit) => `\\u${unit.toUpperCase()}`)
      .join(''),
  'numbers of characters': (value) =>
    unitsOf(value)
      .map((unit) => `U+${unit}`)
      .join(' '),
  'references of HTML in hex': (value) =>
    [...Buffer.from(value)].map((byte) => `&#x${byte.toString(16).padStart(2, '0')};`).join(''),
  'references of HTML in decimal': (value) =>
    codesOf(value)
      .map((code) => `&#${code};`)
      .join(''),
  'a list of the codes of characters': (value) => JSON.stringify(codesOf(value)),
  'base64 in lines': (value) =>
    Buffer.from(`head ${value} tail`)
      .toString('base64')
      .match(/.{1,76}/g)!
      .join('\n'),
};

const unitsOf = (value: string) =>
  value.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));

const codesOf = (value: string) => [...value].map((sign) => sign.codePointAt(0)!);

/** Escapes of a value are undone: plus signs may stand for spaces then, and backslashes for nothing. So few others are no secret. */
const leaves = (text: string) => text.replaceAll('\\', '').replaceAll('+', ' ').trim().length;

const secretValue = fc
  .string({ minLength: 6, maxLength: 80, unit: 'grapheme' })
  .filter((text) => leaves(text) >= 6 && text.isWellFormed() && !/[\0*]/.test(text));
/** Text without a part that could form a value by itself. */
const around = fc.string({ maxLength: 30 });

/** Every encoding of the value that decodes to it must be gone. */
function shows(text: string, value: string): readonly string[] {
  const core = value.trim();
  const bytes = Buffer.from(core);
  const forms: Record<string, string> = {
    plain: core,
    json: JSON.stringify(core).slice(1, -1),
    url: encodeURIComponent(core),
    hex: bytes.toString('hex'),
  };
  const found = Object.entries(forms).flatMap(([name, form]) => (text.includes(form) ? [name] : []));
  const joined = text
    .replace(/[\r\n]/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/');
  for (const shift of [0, 1, 2]) {
    const form = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const sure = form.slice(Math.ceil((8 * shift) / 6), Math.floor((8 * (shift + bytes.length)) / 6));
    if (joined.includes(sure)) found.push(`base64 at ${shift}`);
  }
  return found;
}

function pieces(text: string, cuts: readonly number[]): readonly string[] {
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((place, index) => text.slice(place, places[index] ?? text.length));
}

/** So many texts for each encoding. */
const RUNS = process.env['LANGO_CAMPAIGN'] === '1' ? 1_000 : 40;

describe('a scrubber', () => {
  it.each(Object.keys(ENCODINGS))('finds a value in %s, in any chunks', (name) => {
    fc.assert(
      fc.property(
        secretValue,
        fc.tuple(around, around),
        fc.array(fc.nat(), { maxLength: 20 }),
        (value, [a, b], cuts) => {
          const scrubber = compileScrubber([{ value, mask: MASK }]);
          const text = `${a} ${ENCODINGS[name]!(value)} ${b}`;
          const stream = scrubber.stream();
          const out = pieces(text, cuts).map((piece) => stream.push(piece));
          const streamed = out.join('') + stream.end();
          expect(shows(streamed, value)).toEqual([]);
          expect(streamed).toContain(MASK);
          // At no moment more was visible than at the end.
          expect(streamed).toBe(scrubber.text(text));
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('finds a value of which some characters are escaped, in any chunks', () => {
    fc.assert(
      fc.property(
        // Each may begin what looks like an escape in the value itself.
        secretValue.filter((value) => value.split(/[\\%&]/).length <= 2),
        fc.infiniteStream(fc.nat({ max: ESCAPES.length - 1 })),
        fc.array(fc.nat(), { maxLength: 20 }),
        (value, ways, cuts) => {
          const scrubber = compileScrubber([{ value: `s${value}t`, mask: MASK }]);
          const text = ['s', ...value, 't']
            .map((sign) => ESCAPES[ways.next().value as number]!(sign))
            .join('');
          const stream = scrubber.stream();
          const out = pieces(`a ${text} b`, cuts).map((piece) => stream.push(piece));
          expect(out.join('') + stream.end()).toMatch(/^a [\\%25]*(?:&amp;)?\*\*\* b$/);
        },
      ),
      { numRuns: 10 * RUNS },
    );
  });

  it('leaves a text without a value unchanged', () => {
    const scrubber = compileScrubber([{ value: 'ghp_0123456789abcdef', mask: MASK }]);
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.array(fc.nat()), (text, cuts) => {
        const stream = scrubber.stream();
        expect(
          pieces(text, cuts)
            .map((piece) => stream.push(piece))
            .join('') + stream.end(),
        ).toBe(text);
      }),
    );
  });

  it('holds back no more than the beginning of a value', () => {
    const stream = compileScrubber([{ value: 'swordfish', mask: MASK }]).stream();
    expect(stream.push('I said sword')).toBe('I said ');
    expect(stream.push('play')).toBe('swordplay');
    expect(stream.push(' swordf')).toBe(' ');
    expect(stream.push('ish!')).toBe('***!');
  });

  it('puts one mask over overlapping values, and keeps the rest of the text', () => {
    const scrubber = compileScrubber([
      { value: 'abcdefgh', mask: '<1>' },
      { value: 'efghijkl', mask: '<2>' },
      { value: 'cdefgh', mask: '<3>' },
    ]);
    expect(scrubber.text('x abcdefghijkl y abcdefgh')).toBe('x <1> y <1>');
    expect(compileScrubber([{ value: 'aaaaaa', mask: MASK }]).text(`${'a'.repeat(1_000)}b`)).toBe('***b');
  });

  it('masks a value differently from its encoded forms', () => {
    const scrubber = compileScrubber([{ value: 'swordfish', mask: '{{it}}', encodedMask: '[encoded]' }]);
    expect(scrubber.text('swordfish')).toBe('{{it}}');
    expect(scrubber.text(Buffer.from('swordfish').toString('hex'))).toBe('[encoded]');
  });

  it('scrubs data, member names and file bytes, and keeps an object without values', () => {
    const scrubber = compileScrubber([{ value: 'swordfish', mask: MASK }]);
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const data = {
      list: ['a swordfish', 1, null, true],
      swordfish: { deep: 'swordfish' },
      part: { kind: 'file', bytes: base64('x swordfish y') },
    };
    expect(scrubData(data, scrubber)).toEqual({
      list: ['a ***', 1, null, true],
      [MASK]: { deep: MASK },
      part: { kind: 'file', bytes: base64('x *** y') },
    });
    const clean = { list: ['nothing'], part: { kind: 'file', bytes: base64('nothing') } };
    expect(scrubData(clean, scrubber)).toBe(clean);
    const binary = Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from('swordfish'), Buffer.of(0x80)]);
    const part = scrubData({ kind: 'file', bytes: binary.toString('base64') }, scrubber);
    expect(Buffer.from(part.bytes, 'base64').toString('latin1')).toBe('\xff\xfe***\x80');
  });
});
