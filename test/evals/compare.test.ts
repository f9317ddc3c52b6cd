import { describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CaseResult } from '../../src/core/evaluations.js';
import { compareResults } from '../../src/evals/compare.js';
import { langoHere } from '../cli/lango-here.js';

/** The comparison of two evaluations. */

function repeats(
  name: string,
  [passed, all]: readonly [number, number],
  more: object = {},
): readonly CaseResult[] {
  return Array.from({ length: all }, (_, index) => ({
    ...{ name, file: 'a.yaml', repeat: index + 1, passed: index < passed, failures: [] },
    ...more,
  }));
}

const changeOf = (before: readonly [number, number], now: readonly [number, number], byChance = true) =>
  compareResults(repeats('a', before), repeats('a', now), byChance)[0]!.change;

describe('the comparison of two runs', () => {
  it.each([
    [[5, 5], [0, 5], 'worse'],
    [[5, 5], [1, 5], 'worse'],
    [[0, 8], [5, 8], 'better'],
    [[3, 3], [0, 3], 'worse'],
    [[2, 2], [0, 2], 'unclear'],
    [[5, 5], [3, 5], 'unclear'],
    [[1, 1], [0, 1], 'unclear'],
    [[2, 4], [1, 2], 'same'],
  ] as const)('calls %j and then %j %s', (before, now, change) => {
    expect(changeOf(before, now)).toBe(change);
  });

  it('counts each change of replays, which no chance makes', () => {
    expect(changeOf([1, 1], [0, 1], false)).toBe('worse');
    expect(changeOf([0, 1], [1, 1], false)).toBe('better');
  });

  it('names the figures that differ by more than their repeats do', () => {
    const costs = (...all: number[]) => all.flatMap((cost) => repeats('a', [1, 1], { cost, seconds: 7 }));
    const figuresOf = (before: readonly CaseResult[], now: readonly CaseResult[]) =>
      compareResults(before, now, true)[0]!.figures;
    expect(figuresOf(costs(1, 1.1, 0.9), costs(2, 2.1, 1.9))).toMatchObject({
      cost: { before: { mean: 1 }, now: { mean: 2 } },
    });
    expect(figuresOf(costs(1, 3, 2), costs(2, 3, 1.5))).toEqual({});
    expect(figuresOf(costs(1), costs(9))).toEqual({});
  });

  it('tells models apart, and names cases that are new or gone', () => {
    const before = [
      ...repeats('a', [5, 5], { model: 'x' }),
      ...repeats('a', [5, 5], { model: 'y' }),
      ...repeats('old', [1, 1]),
    ];
    const now = [
      ...repeats('a', [5, 5], { model: 'x' }),
      ...repeats('a', [0, 5], { model: 'y' }),
      ...repeats('new', [1, 1]),
    ];
    const changes = compareResults(before, now, true);
    expect(changes.map(({ name, model, change }) => [name, model, change])).toEqual([
      ...[
        ['a', 'x', 'same'],
        ['a', 'y', 'worse'],
        ['new', undefined, 'new'],
        ['old', undefined, 'gone'],
      ],
    ]);
  });
});

describe('lango eval --compare', () => {
  it('refuses what holds no results, and prints what became worse since a file of --json', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'lango-compare-'));
    const [cases, before] = [path.join(folder, 'a.yaml'), path.join(folder, 'before.json')];
    await writeFile(cases, 'cases: [{ name: a, record: none.json, expect: [{ state: completed }] }]');
    const compare = () => langoHere(['eval', cases, '--compare', before]);
    await writeFile(before, '{}');
    expect(await compare()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no results of an evaluation'),
    });
    await writeFile(
      before,
      JSON.stringify({ results: [{ name: 'a', file: cases, passed: true, failures: [] }] }),
    );
    expect(await compare()).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('worse    a: passed 1 of 1, now 0 of 1'),
    });
    await rm(folder, { recursive: true });
  });
});
