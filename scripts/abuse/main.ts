import { parseArgs } from 'node:util';
import type { SettingsInput } from '../../src/index.js';
import type { Measure } from './child.js';
import type { Case, Outcome } from './corpus.js';
import * as corpora from './corpora.js';
import { Stage } from './stage.js';
import { Stranger } from './stranger.js';

/** `npm run abuse`: hostile input of every kind at servers of its own, over loopback, each a process that is watched. */
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    delay: { type: 'string', default: '100' },
  },
});

/** The bound on memory of issue 15, line 8, in megabytes. */
const MOST_MB = 400;
const CASE_SECONDS = 30;
const GONE = new Error('the server is gone');

interface Corpus {
  readonly cases: readonly Case[];
  readonly settings: (stranger: Stranger) => SettingsInput;
}

interface Row {
  readonly corpus: string;
  cases: number;
  taken: number;
  refused: number;
  slowestMs: number;
  delayMs: number;
  peakMb: number;
  readonly findings: string[];
}

const bare = (): SettingsInput => ({ approval: { policy: 'none' } });
const withPeer = ({ url }: Stranger): SettingsInput => ({
  a2a: { enabled: true, remoteAgents: [{ name: 'stranger', url, allowPrivate: true }], idleSeconds: 5 },
});
const withModel =
  (provider: 'openai') =>
  ({ url }: Stranger): SettingsInput => ({
    model: {
      provider,
      name: 'test',
      baseUrl: url,
      apiKey: 'key-of-nobody',
      maxRetries: 0,
      timeoutSeconds: 5,
    },
  });

const CORPORA: Readonly<Record<string, Corpus>> = {
  cards: { cases: corpora.cards(), settings: bare },
  settings: { cases: corpora.settings(), settings: bare },
  tools: { cases: corpora.toolArguments(), settings: bare },
  peers: { cases: corpora.peers(), settings: withPeer },
  models: { cases: corpora.models(), settings: withModel('openai') },
  documents: { cases: corpora.documents(), settings: bare },
  archives: { cases: corpora.archives(), settings: bare },
};

const only = values.only.split(',').filter((name) => name !== '');
const rows: Row[] = [];
for (const [name, corpus] of Object.entries(CORPORA)) {
  if (only.length === 0 || only.includes(name)) rows.push(await run(name, corpus));
}
print(rows);
process.exit(rows.some(({ findings }) => findings.length > 0) ? 1 : 0);

async function run(name: string, { cases, settings }: Corpus): Promise<Row> {
  const row: Row = {
    ...{ corpus: name, cases: cases.length, taken: 0, refused: 0 },
    ...{ slowestMs: 0, delayMs: 0, peakMb: 0, findings: [] },
  };
  await using stranger = await Stranger.open();
  // Cards are read at the start.
  stranger.answer = corpora.goodCard(stranger);
  await using stage = await Stage.open(settings(stranger));
  // Code is loaded and compiled here: nothing is said of it.
  await cases.at(-1)?.act({ stage, stranger });
  await stage.ask<Measure>({ kind: 'measure' });
  for (const one of cases) {
    const began = performance.now();
    const outcome = await withinTime(one.act({ stage, stranger }));
    stranger.cut();
    const ms = performance.now() - began;
    const measured = stage.isAlive ? stage.ask<Measure>({ kind: 'measure' }) : Promise.reject(GONE);
    const { delayMs } = await measured.catch(() => ({ delayMs: undefined }));
    if (delayMs === undefined) {
      row.findings.push(`${one.name}: the server ${stage.isAlive ? 'answers no more' : 'is gone'}`);
      break;
    }
    row.slowestMs = Math.max(row.slowestMs, Math.round(ms));
    row.delayMs = Math.max(row.delayMs, Math.round(delayMs));
    if (typeof outcome === 'string') row[outcome] += 1;
    else row.findings.push(`${one.name}: ${outcome.finding}`);
    if (delayMs > Number(values.delay))
      row.findings.push(`${one.name}: nothing was answered for ${Math.round(delayMs)} ms`);
  }
  row.peakMb = await stage.peakMb();
  if (row.peakMb > MOST_MB) row.findings.push(`the server had ${row.peakMb} MB at once`);
  return row;
}

async function withinTime(act: Promise<Outcome>): Promise<Outcome> {
  const late = new Promise<Outcome>((resolve) => {
    setTimeout(
      () => resolve({ finding: `no answer within ${CASE_SECONDS} s` }),
      CASE_SECONDS * 1_000,
    ).unref();
  });
  return Promise.race([act.catch((error: unknown) => ({ finding: String(error) })), late]);
}

function print(done: readonly Row[]): void {
  if (values.json) {
    console.log(JSON.stringify(done));
    return;
  }
  const heads = ['corpus', 'cases', 'taken', 'refused', 'findings', 'slowest ms', 'delay ms', 'peak MB'];
  const line = (cells: readonly unknown[]) =>
    cells.map((cell, index) => (index === 0 ? String(cell).padEnd(12) : String(cell).padStart(11))).join('');
  console.log(line(heads));
  for (const { corpus, cases, taken, refused, findings, slowestMs, delayMs, peakMb } of done)
    console.log(line([corpus, cases, taken, refused, findings.length, slowestMs, delayMs, peakMb]));
  const all = done.flatMap(({ corpus, findings }) => findings.map((finding) => `${corpus}: ${finding}`));
  console.log(`\n${done.reduce((sum, { cases }) => sum + cases, 0)} cases, ${all.length} findings`);
  for (const finding of all) console.log(`  ${finding}`);
}
