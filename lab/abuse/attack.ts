import type { SettingsInput } from '../../src/index.js';
import { hiddenChanges, whyNoCurl, withCommands } from './changes.js';
import * as corpora from './corpora.js';
import { configFiles } from './config-files.js';
import { tossedCookies } from './cookies.js';
import { bodiesInFlight, hangingRuns, withCrowds } from './crowds.js';
import { keptDataClaims, withKeeper } from './kept-data.js';
import { mcpRequests, mcpServers } from './mcp.js';
import { mixUps } from './mix-ups.js';
import { changedNames } from './names.js';
import { type Corpus, type Row, run } from './run.js';
import { pages, scripts, whyNoBrowser } from './pages.js';
import { withPersons } from './persons.js';
import { reflections } from './reflections.js';
import { signedCards } from './signed-cards.js';
import type { Stranger } from './stranger.js';
import { anthropicStreams, chatStreams, responsesStreams } from './streams.js';

/** Servers at once. Work is measured in CPU time, and the machine has two processors. */
const AT_ONCE = 2;

/** A file that takes longer to parse is refused, as it would be after the default of 20 s. */
const bare = (): SettingsInput => ({ approval: { policy: 'none' }, parsing: { timeoutSeconds: 3 } });
const withPeer = ({ url }: Stranger): SettingsInput => ({
  a2a: { enabled: true, remoteAgents: [{ name: 'stranger', url, allowPrivate: true }], idleSeconds: 1 },
});
const withModel =
  (provider: 'openai' | 'anthropic', api: 'chat' | 'responses' = 'chat') =>
  ({ url }: Stranger): SettingsInput => ({
    model: {
      provider,
      ...(provider === 'openai' && { api }),
      name: 'test',
      baseUrl: url,
      apiKey: 'key-of-nobody',
      maxRetries: 0,
      timeoutSeconds: 5,
    },
  });

const serving = (): SettingsInput => ({ ...bare(), mcp: { serve: true } });
const withEmbeddings = ({ url }: Stranger): SettingsInput => ({
  ...bare(),
  embedding: { provider: 'openai', model: 'test', baseUrl: url },
});
const withService = ({ url }: Stranger): SettingsInput => ({
  ...bare(),
  tools: { secrets: { enabled: true }, http: { enabled: true } },
  egress: { allowPrivate: [new URL(url).host] },
});
const withBrowser = ({ url }: Stranger): SettingsInput => ({
  ...bare(),
  tools: { browser: { allowHosts: [new URL(url).host], navigationSeconds: 2 } },
});

const CORPORA: Readonly<Record<string, Corpus>> = {
  cards: { cases: corpora.cards(), settings: bare },
  signed: { cases: signedCards(), settings: bare },
  settings: { cases: corpora.settings(), settings: bare },
  // A configuration file comes from the operator, and is read only at the start and on request.
  files: { cases: configFiles(), settings: bare, longestWorkMs: 400 },
  tools: { cases: corpora.toolArguments(), settings: withEmbeddings },
  peers: { cases: corpora.peers(), settings: withPeer },
  models: { cases: chatStreams(), settings: withModel('openai') },
  anthropic: { cases: anthropicStreams(), settings: withModel('anthropic') },
  responses: { cases: responsesStreams(), settings: withModel('openai', 'responses') },
  mcp: { cases: mcpServers(), settings: bare },
  'mcp-calls': { cases: mcpRequests(), settings: serving },
  reflections: { cases: reflections(), settings: withService },
  changes: { cases: hiddenChanges(), settings: withCommands, whyNot: whyNoCurl },
  cookies: { cases: tossedCookies(), settings: withPersons },
  kept: { cases: keptDataClaims(), settings: withKeeper },
  bodies: { cases: bodiesInFlight(), settings: withCrowds },
  runs: { cases: hangingRuns(), settings: withCrowds },
  names: { cases: changedNames(), settings: bare },
  'mix-ups': { cases: mixUps(), settings: bare },
  documents: { cases: corpora.documents(), settings: bare },
  archives: { cases: corpora.archives(), settings: bare },
};
const whyNot = await whyNoBrowser();
/**
 * Corpora that run only on request: pages take minutes, and each case of `holds` is a finding, to prove that it is
 * noticed.
 */
const ON_REQUEST: Readonly<Record<string, Corpus>> = {
  pages: { cases: pages(), settings: withBrowser, whyNot },
  scripts: { cases: scripts(), settings: withBrowser, whyNot },
  holds: { cases: corpora.holds(), settings: bare },
};

export interface Values {
  /** Names of corpora, with commas. */
  readonly only: string;
  /** The bound on the work of the event loop, in milliseconds. */
  readonly work: number;
  /** A case that took longer is told, in milliseconds. */
  readonly slow: number;
  readonly json: boolean;
}

/** Sends the cases, prints the figures, and ends the process: with 1 when something was found. */
export async function attack(values: Values): Promise<never> {
  const only = values.only.split(',').filter((name) => name !== '');
  const unknown = only.filter((name) => !(name in CORPORA) && !(name in ON_REQUEST));
  if (unknown.length > 0) {
    const all = Object.keys({ ...CORPORA, ...ON_REQUEST }).join(', ');
    console.error(`There is no corpus ${unknown.join(', ')}: there are ${all}`);
    process.exit(2);
  }
  const asked =
    only.length === 0
      ? Object.entries(CORPORA)
      : Object.entries({ ...CORPORA, ...ON_REQUEST }).filter(([name]) => only.includes(name));
  const options = { longestWorkMs: values.work, slowMs: values.slow };
  const rows = new Map<string, Row>();
  const waiting = [...asked];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [name, corpus] = next;
      if (corpus.whyNot !== undefined) console.error(`${name}: left out. ${corpus.whyNot}`);
      else rows.set(name, await run(name, corpus, options));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const done = asked.flatMap(([name]) => rows.get(name) ?? []);
  print(done, values.json);
  process.exit(done.some(({ findings }) => findings.length > 0) ? 1 : 0);
}

function print(done: readonly Row[], json: boolean): void {
  if (json) {
    console.log(JSON.stringify(done));
    return;
  }
  const heads = [
    'corpus',
    'cases',
    'taken',
    'refused',
    'findings',
    'slowest ms',
    'work ms',
    'silent ms',
    'peak MB',
  ];
  const line = (cells: readonly unknown[]) =>
    cells.map((cell, index) => (index === 0 ? String(cell).padEnd(12) : String(cell).padStart(11))).join('');
  console.log(line(heads));
  for (const row of done) {
    const { corpus, cases, taken, refused, findings, slowestMs, workMs, silentMs, peakMb } = row;
    console.log(line([corpus, cases, taken, refused, findings.length, slowestMs, workMs, silentMs, peakMb]));
  }
  const all = done.flatMap(({ corpus, findings }) => findings.map((finding) => `${corpus}: ${finding}`));
  console.log(`\n${done.reduce((sum, { cases }) => sum + cases, 0)} cases, ${all.length} findings`);
  for (const finding of all) console.log(`  ${finding}`);
}
