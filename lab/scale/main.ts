import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../src/config/package-root.js';
import type { Outcome } from '../bench/table.js';
import type { Cost, Costs } from './capacity.js';
import { capacityOf, costsOf, messageOf } from './capacity.js';

/**
 * Writes the tables of docs/scale.md from docs/internals/scale.json, an output of the bench. With a file it prints the
 * tables from that one; with --check it says whether the page is stale.
 */
const page = join(packageRoot(), 'docs', 'scale.md');
const given = process.argv.slice(2).find((argument) => !argument.startsWith('--'));
const CORES = [2, 8, 32];
const BETWEEN = /(?<=<!-- tables -->\n\n)[^]*(?=\n\n<!-- end of tables -->)/;

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const file = given ?? join(packageRoot(), 'docs', 'internals', 'scale.json');
  const outcome = JSON.parse(await readFile(file, 'utf8')) as Outcome;
  const tables = render(costsOf(outcome), outcome);
  if (given !== undefined) return console.log(tables);
  const text = await readFile(page, 'utf8');
  const wanted = text.replace(BETWEEN, () => tables);
  if (!process.argv.includes('--check')) return writeFile(page, wanted);
  if (wanted !== text) throw new Error('docs/scale.md is stale: npm run scale');
}

function render(costs: Costs, { machine, rounds }: Outcome): string {
  const cost = (name: string, { server, database, log, stored }: Cost) => [
    name,
    `${number(server)} µs`,
    `${number(database)} µs`,
    `${number(log)} B`,
    `${number(stored)} B`,
  ];
  const { node, cpus, load } = machine;
  return [
    table(
      ['', 'CPU of Lango', 'CPU of PostgreSQL', 'write-ahead log', 'stored'],
      [
        cost('a send: a task with its answer', costs.send),
        cost('an event that is durable before the next', costs.event),
        cost('a second of a stream', costs.stream),
        ['a second of a server without work', '', `${number(costs.idle)} µs`, '', ''],
        cost('**a message of a person**', messageOf(costs)),
      ],
    ),
    `Measured in ${rounds} rounds on ${cpus} cores that the load, Lango and PostgreSQL 18 shared (node ${node}, load ` +
      `${load.toFixed(1)}).`,
    table(
      [
        'PostgreSQL',
        'sends alone',
        'messages',
        'people at work',
        'Lango needs',
        'write-ahead log',
        'a million messages store',
      ],
      CORES.map((cores) => capacityOf(costs, cores)).map((each) => [
        `${each.cores} cores`,
        `${number(each.sends)} per s`,
        `${number(each.messages)} per s`,
        number(each.people),
        `${number(each.serverCores)} cores`,
        `${number(each.logPerSecond / 1e6)} MB/s`,
        `${number(each.storedPerMillion / 1e9)} GB`,
      ]),
    ),
  ].join('\n\n');
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(heads), `|${heads.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

/** Two digits that matter: more would claim more than was measured. */
function number(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en-US');
}
