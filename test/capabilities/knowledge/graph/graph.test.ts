import { openSqliteStores, type AllStores } from '../../../../lab/all-stores.js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '../../../../src/core/logger.js';
import { createGraphTools } from '../../../../src/capabilities/knowledge/graph/index.js';
import { callerOf, toolNamed } from '../../../support/tool-call.js';

let storage: AllStores;
let call: ReturnType<typeof callerOf>;

beforeEach(() => {
  storage = openSqliteStores({ file: ':memory:', synchronous: 'normal', logger: silentLogger });
  call = callerOf(createGraphTools(storage.graph));
});
afterEach(() => storage.close());

const said = async (name: string, input: unknown) => (await call(name, input)).content as string;
const add = (text: string) => {
  const triples = text.split('\n').map((line) => {
    const [subject, predicate, object] = line.split(' | ');
    return { subject, predicate, object };
  });
  return said('graph_add', { triples, source: 'test' });
};

describe('graph_add', () => {
  it('adds one triple or many, and reports which ones were known', async () => {
    expect(await said('graph_add', { subject: 'a', predicate: 'b', object: 'c' })).toBe(
      'Added 1 triple. Source: task task.',
    );
    expect(await add('a | b | c\na | b | d')).toBe('Added 2 triples. Source: test.');
    expect(await add('a | b | c\na | b | e')).toBe('Added 1 triple, 1 known already. Source: test.');
  });

  it.each([
    ['nothing', {}],
    ['a part of a triple', { subject: 'a', predicate: 'b' }],
    ['both forms', { subject: 'a', triples: [{ subject: 'a', predicate: 'b', object: 'c' }] }],
  ])('refuses %s and adds nothing', async (_, input) => {
    await expect(call('graph_add', input)).rejects.toMatchObject({ code: 'invalid-input' });
    expect(await said('graph_query', {})).toBe('The graph contains no such triple.');
  });

  it.each([
    ['an empty name', { subject: ' ', predicate: 'b', object: 'c' }],
    ['a name that is too long', { subject: 'x'.repeat(501), predicate: 'b', object: 'c' }],
    ['an unknown key', { subject: 'a', predicate: 'b', object: 'c', weight: 1 }],
    ['no triples', { triples: [] }],
  ])('does not accept %s', async (_, input) => {
    const { schema } = toolNamed(createGraphTools(storage.graph), 'graph_add');
    expect(schema.safeParse(input).success).toBe(false);
  });
});

describe('graph_query', () => {
  it('returns triples with their sources, marks those from outside, and says when there are more', async () => {
    await add('checkout | depends on | billing\nshop | depends on | billing');
    await call('graph_add', {
      subject: 'Eve',
      predicate: 'depends on',
      object: 'billing',
      source: 'page',
      fromOutside: true,
    });
    const answer = await said('graph_query', { predicate: 'DEPENDS ON', object: 'Billing' });
    expect(answer.split('\n').sort()).toEqual([
      'Eve | depends on | billing  [page, from outside]',
      'checkout | depends on | billing  [test]',
      'shop | depends on | billing  [test]',
    ]);
    expect(await said('graph_query', { object: 'billing', limit: 2 })).toMatch(/there are more than 2/);
  });
});

describe('graph_traverse', () => {
  beforeEach(() => add('a | to | b\nb | to | c\nc | to | a\nc | to | d\nd | knows | e\nx | to | a'));

  it('goes the given number of steps and no further, the nearest first', async () => {
    const answer = await said('graph_traverse', { start: 'A', maxDepth: 2, direction: 'out' });
    expect(answer.split('\n')).toEqual(['1: a | to | b  [test]', '2: b | to | c  [test]']);
  });

  it('ends in a cycle and returns each triple once', async () => {
    const lines = (await said('graph_traverse', { start: 'a', maxDepth: 6, direction: 'out' })).split('\n');
    expect(lines).toHaveLength(5);
    expect(new Set(lines).size).toBe(5);
  });

  it('follows edges backwards, by some predicates only, and in both directions', async () => {
    const into = await said('graph_traverse', { start: 'a', maxDepth: 1, direction: 'in' });
    expect(into.split('\n').sort()).toEqual(['1: c | to | a  [test]', '1: x | to | a  [test]']);
    expect(await said('graph_traverse', { start: 'd', predicates: ['knows'], direction: 'out' })).toBe(
      '1: d | knows | e  [test]',
    );
    expect((await said('graph_traverse', { start: 'a', maxDepth: 1 })).split('\n')).toHaveLength(3);
  });

  it('stops at its limit with a note, and returns nothing for an unknown node', async () => {
    expect(await said('graph_traverse', { start: 'a', maxDepth: 6, limit: 2 })).toMatch(
      /stopped at 2 triples/,
    );
    expect(await said('graph_traverse', { start: 'nobody' })).toBe(
      'No triple in the graph leads on from "nobody".',
    );
  });

  it('can be canceled', async () => {
    const signal = AbortSignal.abort(new Error('called off'));
    await expect(call('graph_traverse', { start: 'a' }, { signal })).rejects.toThrow('called off');
  });
});

describe('graph_remove', () => {
  it('removes by pattern or by source, and refuses a call without either', async () => {
    await add('a | to | b\na | to | c\nb | to | c');
    await expect(call('graph_remove', {})).rejects.toMatchObject({ code: 'invalid-input' });
    await expect(call('graph_remove', { subject: 'a', source: 'test' })).rejects.toMatchObject({
      code: 'invalid-input',
    });
    expect(await said('graph_remove', { subject: 'a', object: 'c' })).toBe('Removed 1 triple.');
    expect(await said('graph_remove', { subject: 'a', object: 'c' })).toBe('Nothing matched.');
    expect(await said('graph_remove', { source: 'test' })).toBe('Removed 2 triples.');
  });
});
