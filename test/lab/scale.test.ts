import { expect, it } from '@jest/globals';
import type { Figure } from '../../lab/bench/figures.js';
import { capacityOf, costsOf, messageOf } from '../../lab/scale/capacity.js';

const figure = (id: string, values: Figure['values']): Figure => ({ id, title: id, unit: '', values });
const unit = (name: string, database: number) => [
  figure(`postgres.${name}.cpu`, { lango: 1, 'lango-postgres': 2 * database }),
  figure(`postgres.${name}.database`, { database }),
  figure(`postgres.${name}.log`, { database: 1_000 }),
  figure(`postgres.${name}.stored`, { database: 100 }),
];
const figures = [
  ...[...unit('send', 1_000), ...unit('event', 300), ...unit('stream', 250)],
  figure('postgres.idle.database', { database: 5 }),
];

it('the scale report computes the load of a PostgreSQL from the cost of a send, an event and a second of a stream', () => {
  const costs = costsOf({ figures });
  // Two sends, ten events, twenty seconds.
  expect(messageOf(costs)).toEqual({ server: 20_000, database: 10_000, log: 32_000, stored: 3_200 });
  expect(capacityOf(costs, 8)).toEqual({
    ...{ cores: 8, sends: 4_000, messages: 400, people: 24_000, serverCores: 16 },
    ...{ logPerSecond: 12_800_000, storedPerMillion: 3.2e9 },
  });
});

it('the scale report names a missing figure, and how to measure it', () => {
  const lacking = figures.filter(({ id }) => id !== 'postgres.event.log');
  expect(() => costsOf({ figures: lacking })).toThrow(
    /lack postgres\.event\.log of database\. Make them with: npm run/,
  );
});
