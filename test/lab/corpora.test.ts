import { expect, it } from '@jest/globals';
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

it('docs/internals/threats.md counts the cases of each corpus', () => {
  const page = readFileSync('docs/internals/threats.md', 'utf8');
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
