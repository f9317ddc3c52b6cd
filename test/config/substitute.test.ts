import { describe, expect, it } from '@jest/globals';
import { retype, substitute } from '../../src/config/substitute.js';

const VARIABLES = { A: 'one', EMPTY: '' };

describe('substitute', () => {
  it.each([
    ['plain $A', 'plain $A'],
    ['${A} and ${A}', 'one and one'],
    ['${NONE:-x}${EMPTY:-y}${A:-z}', 'xyone'],
    ['${EMPTY}', ''],
    ['$${A}', '${A}'],
    ['${NONE:-a:-b}', 'a:-b'],
    ['${A} } $${A', 'one } ${A'],
  ])('%j becomes %j', (text, expected) => {
    expect(substitute(text, VARIABLES)).toMatchObject({ text: expected });
  });

  it.each(['${NONE}', '${toString}', '${', '${A', '${A} ${A:-x', '${1A}', '${}', '${A-b}'])(
    'refuses %j',
    (text) => {
      expect(substitute(text, VARIABLES)).toHaveProperty('problem');
    },
  );
});

describe('retype', () => {
  const number = new Set(['number']);

  it.each([
    ['12', 12],
    ['-1.5e3', -1500],
    ['0x10', '0x10'],
    ['', ''],
    ['Infinity', 'Infinity'],
    ['true', 'true'],
  ])('%j is %j for a number', (text, expected) => {
    expect(retype(text, number)).toBe(expected);
  });

  it('keeps a text wherever a text is allowed', () => {
    expect(retype('12', new Set(['number', 'string']))).toBe('12');
    expect(retype('false', new Set(['boolean']))).toBe(false);
    expect(retype('yes', new Set(['boolean']))).toBe('yes');
  });
});
