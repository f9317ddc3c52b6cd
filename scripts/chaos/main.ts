import { parseArgs } from 'node:util';
import { chaos, FAULTS, type Fault } from './chaos.js';

/** `npm run chaos`: faults over three replicas on one PostgreSQL, all of it on loopback, bounded in count. */
const names = Object.keys(FAULTS) as Fault[];
const options = Object.fromEntries(
  names.map((fault) => [fault, { type: 'string', default: String(FAULTS[fault]) } as const]),
) as Record<Fault, { readonly type: 'string'; readonly default: string }>;
const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    replicas: { type: 'string', default: '3' },
    clients: { type: 'string', default: '6' },
    clock: { type: 'string', default: '3600' },
    ...options,
    json: { type: 'boolean', default: false },
  },
});

if (values.help) {
  const counts = names.map((fault) => `  --${fault} N`.padEnd(18) + `default ${FAULTS[fault]}`);
  console.log(`npm run chaos -- OPTIONS   faults over replicas of one node; docs/internals/chaos.md says what each fault is

How often each fault comes:
${counts.join('\n')}

  --seed N        gives the order of the faults again; default: by the time
  --replicas N    default 3
  --clients N     default 6
  --clock N       how many seconds the clocks of the second and third replica are off; default 3600
  --json          prints the figures as JSON
  --help, -h      prints this

Exits with 1 when something is found.`);
  process.exit();
}

const figures = await chaos({
  seed: Number(values.seed),
  replicas: Number(values.replicas),
  clients: Number(values.clients),
  faults: Object.fromEntries(names.map((fault) => [fault, Number(values[fault])])) as Record<Fault, number>,
  clockSeconds: Number(values.clock),
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
