import { expect, it } from '@jest/globals';
import { isAtLeast } from '../../src/core/text.js';

it('isAtLeast compares versions number by number', () => {
  const versions = ['3.9.0', '3.50.9', '3.51', '3.51.0', '3.51.10', '4', ''];
  expect(versions.filter((version) => isAtLeast(version, '3.51'))).toEqual([
    '3.51',
    '3.51.0',
    '3.51.10',
    '4',
  ]);
  expect(isAtLeast('3.51', '3.51.1')).toBe(false);
});
