import { commandLine } from '../command-line.js';
import { chaos, FAULTS, type Fault } from './chaos.js';

/** `npm run chaos`: injects a given number of faults into three replicas on one PostgreSQL, all on loopback. */
const names = Object.keys(FAULTS) as Fault[];
const counts = Object.fromEntries(
  names.map((fault) => [fault, { default: FAULTS[fault], text: `how often ${fault} comes` }]),
) as Record<Fault, { readonly default: number; readonly text: string }>;
const about = `Sends requests to replicas of one node, on loopback, while faults come to them. docs/internals/chaos.md says
what each fault is. Exits with 1 when something is found.`;
const values = commandLine('chaos', about, {
  ...counts,
  seed: { default: Date.now() % 1_000_000, text: 'gives the order of the faults again' },
  replicas: { default: 3, text: 'how many replicas' },
  clients: { default: 6, text: 'how many clients' },
  clock: {
    default: 3600,
    text: 'how many seconds the clock of the second replica is ahead, and that of the third behind',
  },
  pooler: { default: false, text: 'puts a PgBouncer (of Debian) with session pooling before the database' },
  json: { default: false, text: 'prints the figures as JSON' },
});

const figures = await chaos({
  ...{
    seed: values.seed,
    replicas: values.replicas,
    clients: values.clients,
    clockSeconds: values.clock,
    isPooled: values.pooler,
  },
  faults: Object.fromEntries(names.map((fault) => [fault, values[fault]])) as Record<Fault, number>,
  onFault: (text) => process.stderr.write(`${text}\n`),
});
if (values.json) console.log(JSON.stringify(figures));
else {
  const { findings, ...numbers } = figures;
  for (const [name, value] of Object.entries(numbers)) console.log(name.padEnd(14), JSON.stringify(value));
  console.log('findings'.padEnd(14), findings.length);
  for (const finding of findings) console.log(`  ${finding}`);
}
process.exit(figures.findings.length === 0 ? 0 : 1);
