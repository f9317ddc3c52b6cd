import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { findQuotations, quote } from '../../src/models/offline/quotes.js';
import { readWords, stem } from '../../src/models/offline/words.js';

describe('quotations', () => {
  it.each([
    ['say "a b" now', ['a b']],
    ["say 'a b' now", ['a b']],
    ['say `a b` now', ['a b']],
    ['say “a b” and ‘c’', ['a b', 'c']],
    ["it's Bob's 'own car' isn't it", ['own car']],
    ["say 'it isn't' now", ["it isn't"]],
    ['5" pipe', []],
    ['say "never closed', []],
    ['x="a b"', ['a b']],
    ['```js\nlet a;\n``` end', ['let a;']],
    ['````\na ``` b\n````', ['a ``` b']],
    ['say "" now', ['']],
  ])('%s', (text, inner) => {
    expect(findQuotations(text).map((quotation) => quotation.inner)).toEqual(inner);
  });

  it.each([
    ['“', 1],
    ['‘', 1],
    ["'", 1_002],
    ['"', 501],
  ])('are not searched for again once nothing closes %s', (opener, most) => {
    const search = jest.spyOn(String.prototype, 'indexOf');
    findQuotations(` ${opener}x`.repeat(1_001));
    const searches = search.mock.calls.length;
    search.mockRestore();
    expect(searches).toBeGreaterThan(0);
    expect(searches).toBeLessThanOrEqual(most);
  });

  it('takes apart what quote put together, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '"', "'", '`', '\n', ' ', '“', '한') }), (text) => {
        expect(findQuotations(quote(text))).toEqual([{ start: 0, end: quote(text).length, inner: text }]);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('words', () => {
  it('holds quotations together and drops outer punctuation', () => {
    const { tokens } = readWords('Write, "a, b". (then) --force "x"y');
    expect(tokens.map(({ plain, quoted }) => quoted ?? plain)).toEqual([
      'write',
      'a, b',
      'then',
      '--force',
      'x"y',
    ]);
  });

  it.each([
    ['create', 'creates', 'created', 'creating'],
    ['write', 'writes', 'writing'],
    ['run', 'runs', 'running'],
    ['list', 'lists', 'listed', 'listing'],
    ['search', 'searches', 'searched', 'searching'],
    ['copy', 'copies'],
    ['file', 'files'],
  ])('brings the forms of "%s" together', (...forms) => {
    expect(new Set(forms.map(stem)).size).toBe(1);
  });

  it.each([
    ['read', 'ready'],
    ['list', 'last'],
    ['process', 'proceed'],
    ['ls', 'l'],
  ])('keeps "%s" and "%s" apart', (a, b) => {
    expect(stem(a)).not.toBe(stem(b));
  });
});
