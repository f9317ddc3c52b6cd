import { describe, expect, it, jest } from '@jest/globals';
import { BoundedCache } from '../../src/core/bounded-cache.js';

function keysOf(cache: Iterable<readonly [string, unknown]>): readonly string[] {
  return [...cache].map(([key]) => key);
}

describe('BoundedCache', () => {
  it('drops the oldest values beyond its limit, and gives each value out once', () => {
    const cache = new BoundedCache<string, string>(10);
    cache.set('a', 'first', 4);
    cache.set('b', 'second', 4);
    cache.set('a', 'again', 4);
    cache.set('c', 'third', 4);
    expect(['a', 'b', 'c', 'c'].map((key) => cache.take(key))).toEqual([
      'again',
      undefined,
      'third',
      undefined,
    ]);
    cache.set('d', 'too much', 11);
    expect(cache.take('d')).toBeUndefined();
    expect(cache.size).toBe(0);
  });

  it('counts its entries when they have no size', () => {
    const cache = new BoundedCache<string, number>(3);
    for (const [index, key] of ['a', 'b', 'c', 'd'].entries()) cache.set(key, index);
    expect([...cache]).toEqual([
      ['b', 1],
      ['c', 2],
      ['d', 3],
    ]);
    expect([cache.get('a'), cache.get('b'), cache.size]).toEqual([undefined, 1, 3]);
  });

  it('makes an entry the newest by setting it, and not by reading it', () => {
    const cache = new BoundedCache<string, number>(2);
    cache.set('a', 1);
    cache.set('b', 2);
    cache.get('a');
    cache.set('b', 3);
    cache.set('c', 4);
    expect(keysOf(cache)).toEqual(['b', 'c']);
  });

  it('forgets the size of an entry that is taken, or set with another size', () => {
    const cache = new BoundedCache<string, string>(10);
    cache.set('a', 'large', 9);
    cache.set('a', 'small', 1);
    cache.set('b', 'large', 9);
    expect(keysOf(cache)).toEqual(['a', 'b']);
    cache.take('b');
    cache.set('c', 'large', 9);
    expect(keysOf(cache)).toEqual(['a', 'c']);
  });

  it('keeps the newest entry whatever its size, where that is asked for', () => {
    const cache = new BoundedCache<string, string>(10, { keepsNewest: true });
    cache.set('a', 'small', 1);
    cache.set('b', 'too much', 11);
    expect(keysOf(cache)).toEqual(['b']);
    cache.set('c', 'small', 1);
    expect(keysOf(cache)).toEqual(['c']);
  });

  it('says which entries it dropped, and not which were taken or replaced', () => {
    const onDropped = jest.fn();
    const cache = new BoundedCache<string, number>(2, { onDropped });
    cache.set('a', 1);
    cache.set('a', 2);
    cache.take('a');
    for (const key of ['b', 'c', 'd']) cache.set(key, 3);
    expect(onDropped.mock.calls).toEqual([['b', 3]]);
  });
});
