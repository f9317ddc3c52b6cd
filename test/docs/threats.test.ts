import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { hiddenChanges } from '../../lab/abuse/changes.js';
import { configFiles } from '../../lab/abuse/config-files.js';
import { tossedCookies } from '../../lab/abuse/cookies.js';
import { bodiesInFlight, hangingRuns } from '../../lab/abuse/crowds.js';
import * as corpora from '../../lab/abuse/corpora.js';
import { keptDataClaims } from '../../lab/abuse/kept-data.js';
import { mcpRequests, mcpServers } from '../../lab/abuse/mcp.js';
import { mixUps } from '../../lab/abuse/mix-ups.js';
import { changedNames } from '../../lab/abuse/names.js';
import { pages, scripts } from '../../lab/abuse/pages.js';
import { reflections } from '../../lab/abuse/reflections.js';
import { anthropicStreams, chatStreams, responsesStreams } from '../../lab/abuse/streams.js';
import { signedCards } from '../../lab/abuse/signed-cards.js';

const page = readFileSync('docs/internals/threats.md', 'utf8');
const rows = page.split('\n').filter((line) => /^\| ASI\d\d /.test(line));
const evidence = page
  .split('\n')
  .flatMap((row) =>
    [...row.matchAll(/`([\w/.-]+\.test\.ts)` "([^"]+)"/g)].map(([, file, title]) => [file!, title!] as const),
  );

/** Sections that summarize or limit the promises of the others. */
const WITHOUT_PROMISE = [
  'Checklist for a server that others reach',
  'What the vault protects against, and what it does not',
];

describe('docs/internals/threats.md', () => {
  it('has the ten risks, each with a test', () => {
    expect(rows.map((row) => /ASI\d\d/.exec(row)![0])).toEqual(
      Array.from({ length: 10 }, (_, n) => `ASI${String(n + 1).padStart(2, '0')}`),
    );
    expect(rows.filter((row) => !row.includes('.test.ts`'))).toEqual([]);
  });

  it('has each promise of SECURITY.md, with a test', () => {
    const [, counted] = readFileSync('SECURITY.md', 'utf8').split('## What counts');
    const promises = [...counted!.matchAll(/^- (.+)$/gm)].map(([, promise]) => promise!);
    const shown = page
      .split('\n')
      .filter((row) => row.startsWith('| SECURITY.md |') && row.includes('.test.ts`'));
    expect(shown.map((row) => row.split(' | ')[1])).toEqual(promises);
  });

  it.each(['secure-it.md', 'use-secrets.md'])('has a row for each section with a promise in %s', (name) => {
    const titles = [...readFileSync(`docs/guides/${name}`, 'utf8').matchAll(/^##+ (.+)$/gm)].map(
      ([, title]) => title!,
    );
    const anchors = titles
      .filter((title) => !WITHOUT_PROMISE.includes(title))
      .map((title) =>
        title
          .toLowerCase()
          .replace(/[^a-z0-9 -]/g, '')
          .replaceAll(' ', '-'),
      );
    const linked = [...page.matchAll(/^\| \[[^\]]+\]\(\.\.\/guides\/([^#]+)#([^)]+)\) \|/gm)];
    const named = linked.filter(([, file]) => file === name).map(([, , anchor]) => anchor!);
    expect([...new Set(named)]).toEqual(anchors);
  });

  it.each(evidence)('names an existing test: %s %s', (file, title) => {
    expect([file, readFileSync(`test/${file}`, 'utf8')]).toEqual([file, expect.stringContaining(title)]);
  });

  it('counts the cases of each corpus', () => {
    const counts = [...page.matchAll(/^\| ([\w-]+) \|[^|]+\| (\d+) \|$/gm)].map(([, name, count]) => [
      name,
      Number(count),
    ]);
    const { cards, settings, toolArguments, peers, documents, archives } = corpora;
    const made = {
      cards,
      signed: signedCards,
      settings,
      files: configFiles,
      tools: toolArguments,
      peers,
      models: chatStreams,
      anthropic: anthropicStreams,
      responses: responsesStreams,
      mcp: mcpServers,
      'mcp-calls': mcpRequests,
      reflections,
      changes: hiddenChanges,
      cookies: tossedCookies,
      kept: keptDataClaims,
      bodies: bodiesInFlight,
      runs: hangingRuns,
      names: changedNames,
      'mix-ups': mixUps,
      documents,
      archives,
      pages,
      scripts,
    };
    expect(counts).toEqual(Object.entries(made).map(([name, make]) => [name, make().length]));
  });
});
