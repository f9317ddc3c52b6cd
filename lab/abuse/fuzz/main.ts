import { commandLine } from '../../command-line.js';

/** `npm run abuse -- fuzz`: sends malformed and mutated requests to its own server over loopback, up to a number and a time. */
const values = commandLine('abuse fuzz', 'Sends malformed requests to a server of its own, over loopback.', {
  seed: { default: Date.now() % 1_000_000, text: 'gives the same requests again' },
  seconds: { default: 30, text: 'the most time it takes' },
  requests: { default: 20_000, text: 'the most requests it sends' },
  slow: { default: 1_000, text: 'an answer that takes longer, in milliseconds, is a finding' },
  json: { default: false, text: 'prints the figures as JSON' },
});

const { seed, seconds, requests, slow: slowMs } = values;
const { fuzz } = await import('./fuzz.js');
const figures = await fuzz({ seed, seconds, requests, slowMs });
if (values.json) console.log(JSON.stringify(figures));
else {
  const { findings, ...numbers } = figures;
  for (const [name, value] of Object.entries(numbers)) console.log(name.padEnd(12), JSON.stringify(value));
  console.log('findings'.padEnd(12), findings.length);
  for (const finding of findings) console.log(`  ${finding}`);
}
process.exit(figures.findings.length === 0 ? 0 : 1);
