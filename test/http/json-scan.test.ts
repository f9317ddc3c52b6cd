import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MAX_CONTAINERS, type Json } from '../../src/core/json.js';
import { assertJsonLimits, ValueCount, membersOf } from '../../src/http/json-scan.js';

function scan(text: string, limits: { depth: number; keys: number }): void {
  assertJsonLimits(Buffer.from(text), limits);
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function widthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Math.max(own, ...Object.values(value).map(widthOf), 0);
}

describe('assertJsonLimits', () => {
  it('agrees with a walk over the parsed value, for any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.integer({ min: 0, max: 5 }), (value, limit) => {
        const text = JSON.stringify(value);
        const parsed: unknown = JSON.parse(text);
        const check = (): void => scan(text, { depth: limit, keys: limit });
        if (depthOf(parsed) > limit || widthOf(parsed) > limit) expect(check).toThrow();
        else expect(check).not.toThrow();
      }),
    );
  });

  it.each([
    '1e309',
    '[0,-1.0E+400]',
    '{"a":{"b":123456e3456}}',
    '9'.repeat(400),
    `[${'1'.repeat(1_000_000)}]`,
  ])('refuses a number that would be infinite: %.20s', (text) => {
    expect(() => scan(text, { depth: 5, keys: 5 })).toThrow(/number/);
  });

  it('accepts every other number, and digits in a text', () => {
    for (const text of [
      '1e308',
      '-1.7976931348623157e308',
      '1e-400',
      `0.${'1'.repeat(500)}`,
      '"1e999"',
      '1-2e',
    ]) {
      scan(`[${text}]`, { depth: 1, keys: 0 });
    }
  });

  it('does not count the contents of texts', () => {
    scan(JSON.stringify(['[[[{{{:::', '\\"[[[', 'a":"b']), { depth: 1, keys: 0 });
    expect(() => scan('{"a\\\\":1,"b":2}', { depth: 1, keys: 1 })).toThrow(/members/);
  });

  it('stops at a depth bomb at once, and leaves bad syntax to the parser', () => {
    expect(() => scan('['.repeat(1_000_000), { depth: 64, keys: 1 })).toThrow(/deeper than 64/);
    scan(']]]}}"', { depth: 1, keys: 1 });
  });
});

describe('membersOf', () => {
  it('agrees with the scan for any JSON whose objects name each member once', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = Buffer.from(JSON.stringify(value));
        const members = membersOf(JSON.parse(String(text)) as Json);
        expect(members).toBe(assertJsonLimits(text, { depth: 10, keys: 1_000 }));
      }),
    );
  });
});

describe('ValueCount', () => {
  const many = '[],'.repeat(MAX_CONTAINERS);
  const quoted = JSON.stringify({ text: `\\"${many}` });
  /** Reads a text in pieces of `size` bytes. */
  const count = (text: string, isEventStream: boolean, size = 7): void => {
    const counted = new ValueCount('host', isEventStream);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) counted.read(bytes.subarray(at, at + size));
  };

  it.each([
    ['a response', false, `[${many}1]`],
    ['a response with empty lines', false, `[\n\n${many}1]`],
    ['an event', true, `data: [${many}1]\n\n`],
    ['an event in lines', true, `data: [\r\ndata: ${many.replaceAll(',', ',\r\ndata: ')}1]\r\n\r\n`],
    ['an event after another', true, `data: {}\r\rdata: [${many}1]`],
    ['an event after one that does not end its text', true, `data: "\ndata: [${many}1]`],
  ])('refuses too many lists in %s', (_name, isEventStream, text) => {
    expect(() => count(text, isEventStream)).toThrow(/more than 25000 lists and objects/);
    expect(() => count(text, isEventStream, text.length)).toThrow(/more than 25000 lists and objects/);
  });

  it.each([
    ['a text', false, quoted],
    ['a text of an event', true, `data: ${quoted}\n\n`],
    [
      'many events, with any line breaks',
      true,
      ['\n\n', '\r\n\r\n', '\r\r']
        .map((end) => `data: {"a":[1,2,3,4,5,6,7,8,9]}${end}`.repeat(20_000))
        .join(''),
    ],
  ])('accepts the content of %s', (_name, isEventStream, text) => {
    expect(() => count(text, isEventStream)).not.toThrow();
  });
});
