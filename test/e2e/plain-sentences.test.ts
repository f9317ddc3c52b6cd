import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from '../../src/index.js';
import type { EmbeddingServer } from '../support/embedding-server.js';
import { startEmbeddingServer } from '../support/embedding-server.js';
import type { Issuer } from '../support/issuer.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import { ScriptedServer, status } from '../support/scripted-server.js';
import type { Outcome, TestServer } from '../support/server.js';
import { doings, sendText, startServer } from '../support/server.js';

interface Row {
  readonly tool: string;
  readonly sentence: string;
  readonly answer: string;
  readonly does: string;
}

const ROW = /^\| `(\w+)` \| `([^`]+)` \| (.+) \| (keeps|reads|asks|removes) \|$/gm;
/** The table of docs/internals/sentences.md. */
const ROWS: readonly Row[] = Array.from(
  readFileSync('docs/internals/sentences.md', 'utf8').matchAll(ROW),
  ([, tool, sentence, answer, does]) => ({
    tool: tool!,
    sentence: sentence!,
    answer: answer!.replaceAll('\\|', '|'),
    does: does!,
  }),
);
const FAMILIES =
  /^(search_|save_|rag_|graph_|create_skill|list_skills|import_skill|skill_|memory_|observe_|reflect_)/;

const SKILL = '---\nname: greet\ndescription: Greets people.\n---\n\nSay hello.\n';

let home: string;
let issuer: Issuer;
let embeddings: EmbeddingServer;
let web: ScriptedServer;
let server: TestServer;

async function start(): Promise<void> {
  const on = { enabled: true };
  server = await startServer({
    home,
    settings: {
      server: { port: 0 },
      tools: { fs: on, knowledge: on, search: on, skills: on, memory: on },
      graph: on,
      observationalMemory: on,
      embedding: { provider: 'openai', model: 'test', baseUrl: embeddings.baseUrl },
      webSearch: { provider: 'searxng', baseUrl: web.url },
      // The skill to import exists before anybody asks.
      disk: { workspaces: 'shared' },
      auth: { mode: 'jwt', jwt: { issuer: issuer.url, audience: [AUDIENCE] } },
    },
  });
}

beforeAll(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'lango-sentences-'));
  const inbox = path.join(home, 'workspace', 'inbox', 'greet');
  await mkdir(inbox, { recursive: true });
  await writeFile(path.join(inbox, 'SKILL.md'), SKILL);
  [issuer, embeddings, web] = [
    await startIssuer(),
    await startEmbeddingServer(),
    await ScriptedServer.open(),
  ];
  const results = [{ title: 'Tea house', url: 'https://tea.example/', content: 'Tea at four.' }];
  web.willReply(...Array.from({ length: 9 }, () => status(200, { results })));
  await start();
});
afterAll(async () => {
  await server.stop();
  await Promise.all([issuer.close(), embeddings.close(), web[Symbol.asyncDispose]()]);
  await rm(home, { recursive: true, force: true });
});

async function say(owner: string, sentence: string): Promise<Outcome> {
  const client = connect({ url: server.address.origin, token: await issuer.token({ sub: owner }) });
  return sendText({ ...server, client }, sentence);
}

function called({ tool }: Row, outcome: Outcome): boolean {
  return doings(outcome).some((line) => line.endsWith(`: tool-call ${tool}`));
}

const rowsThat = (...does: readonly string[]) => ROWS.filter((row) => does.includes(row.does));

describe('a plain sentence under the offline model', () => {
  it.each(rowsThat('keeps', 'reads', 'asks'))(
    'reaches each tool of knowledge, graph, skills and memory: $tool: $sentence',
    async (row) => {
      const outcome = await say('alice', row.sentence);
      expect(outcome.end).toMatchObject({ state: 'completed', text: expect.stringContaining(row.answer) });
      expect(called(row, outcome)).toBe(true);
    },
  );

  it('is listed in the table of docs/internals/sentences.md', async () => {
    const headers = { authorization: `Bearer ${await issuer.token({ sub: 'alice' })}` };
    const names = await Promise.all(
      ['librarian', 'chronicler', 'operator'].map(async (agent) => {
        const card = await server.fetch(`/agents/${agent}/extendedAgentCard`, { headers });
        const { skills } = (await card.json()) as { readonly skills: readonly { readonly id: string }[] };
        return skills.map(({ id }) => id);
      }),
    );
    const tools = names.flat().filter((name) => FAMILIES.test(name));
    expect(tools.length).toBeGreaterThan(15);
    expect(tools.filter((name) => !ROWS.some(({ tool }) => tool === name))).toEqual([]);
  });

  describe('after a restart', () => {
    beforeAll(async () => {
      await server.stop();
      await start();
    });

    it.each(rowsThat('reads'))('finds the stored data: $tool: $sentence', async (row) => {
      const outcome = await say('alice', row.sentence);
      expect(outcome.end.text).toContain(row.answer);
      expect(called(row, outcome)).toBe(true);
    });

    it.each(rowsThat('reads'))('finds nothing of another owner: $tool: $sentence', async (row) => {
      const outcome = await say('bob', row.sentence);
      expect(JSON.stringify(outcome.events)).not.toContain(JSON.stringify(row.answer).slice(1, -1));
    });

    it.each(rowsThat('removes'))('removes the data of its owner only: $tool: $sentence', async (row) => {
      // Nobody removes another owner's data.
      expect((await say('bob', row.sentence)).end.text).not.toContain(row.answer);
      const outcome = await say('alice', row.sentence);
      expect(outcome.end.text).toContain(row.answer);
      expect(called(row, outcome)).toBe(true);
    });

    it('does not find removed data', async () => {
      expect((await say('alice', 'what depends on billing?')).end.text).toMatch(/no such triple/);
      const recalled = await say('alice', 'what do you remember about the deploy key?');
      expect(recalled.end.text).toMatch(/^Nothing was found/);
    });
  });
});
