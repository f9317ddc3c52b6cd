import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { ABLATIONS } from './ablations.js';
import { allTopics } from './tables.js';

const topics = await allTopics();
const ids = topics.flatMap(({ quirks }) => quirks.map(({ id }) => id));

describe('the tables of quirks', () => {
  it('have ids that are unique over all files', () => {
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  });

  it.each(topics)('have a test file of $name', ({ name, quirks }) => {
    expect(quirks.length).toBeGreaterThan(0);
    expect(existsSync(`test/quirks/${name}.test.ts`)).toBe(true);
  });
});

describe('the rules for quirks', () => {
  it.each(ABLATIONS)('are in the sources: $rule', ({ file, find, replace, red }) => {
    expect(readFileSync(file, 'utf8').split(find)).toHaveLength(2);
    expect(replace).not.toBe(find);
    expect(red.length).toBeGreaterThan(0);
    expect(red.filter((id) => !ids.includes(id))).toEqual([]);
  });
});
