import { parseArgs } from 'node:util';
import { fuzz } from './fuzz.js';

/** `npm run fuzz`: malformed and mutated requests at a server of its own, over loopback, bounded in count and time. */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    seconds: { type: 'string', default: '30' },
    requests: { type: 'string', default: '20000' },
    /** An answer that takes longer, in milliseconds, is a finding. */
    slow: { type: 'string', default: '1000' },
    json: { type: 'boolean', default: false },
  },
});

const figures = await fuzz({
  seed: Number(values.seed),
  seconds: Number(values.seconds),
  requests: Number(values.requests),
  slowMs: Number(values.slow),
});
if (values.json) console.log(JSON.stringify(figures));
else {
  const { findings, ...numbers } = figures;
  for (const [name, value] of Object.entries(numbers)) console.log(name.padEnd(12), JSON.stringify(value));
  console.log('findings'.padEnd(12), findings.length);
  for (const finding of findings) console.log(`  ${finding}`);
}
process.exit(figures.findings.length === 0 ? 0 : 1);
