import { parseArgs } from 'node:util';
import { chaos, FAULTS, type Fault } from './chaos.js';

/** `npm run chaos`: faults over three replicas on one PostgreSQL, all of it on loopback, bounded in count. */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    replicas: { type: 'string', default: '3' },
    clients: { type: 'string', default: '6' },
    /** How often each fault comes. */
    kill: { type: 'string', default: '20' },
    stop: { type: 'string', default: '4' },
    cut: { type: 'string', default: '2' },
    term: { type: 'string', default: '4' },
    restart: { type: 'string', default: '2' },
    json: { type: 'boolean', default: false },
  },
});

const figures = await chaos({
  seed: Number(values.seed),
  replicas: Number(values.replicas),
  clients: Number(values.clients),
  faults: Object.fromEntries(FAULTS.map((fault) => [fault, Number(values[fault])])) as Record<Fault, number>,
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
