import { describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { doings, sendText, withServer } from '../support/server.js';

const ON = {
  server: { port: 0 },
  tools: {
    fs: { enabled: false },
    exec: { enabled: false },
    knowledge: { enabled: true },
    search: { enabled: true },
  },
  graph: { enabled: false },
};

describe('B. Knowledge from plain sentences', () => {
  it('B4 is stored and found through the orchestrator and the librarian, also after a restart', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-knowledge-'));
    try {
      await withServer({ home, settings: ON }, async (server) => {
        const saved = await sendText(server, 'save knowledge deploy-key: the deploy key rotates on Fridays');
        expect(doings(saved)).toContain('librarian: tool-call save_knowledge');
        expect(saved.end).toMatchObject({ state: 'completed', text: 'Saved knowledge "deploy-key".' });
        await sendText(server, 'save knowledge proxy: all traffic leaves through the proxy at gate.example');
        await sendText(server, 'save learning "ECONNRESET in CI": raise the keep-alive timeout');
      });
      await withServer({ home, settings: ON }, async (server) => {
        const asked = await sendText(server, 'what do you know about the deploy key?');
        expect(doings(asked)).toContain('librarian: tool-call search_knowledge');
        expect(asked.end.text).toMatch(
          /deploy-key \[knowledge; .*version 1.*\]\n +> the deploy key rotates on Fridays/,
        );
        const searched = await sendText(server, 'search the knowledge for proxy');
        expect(searched.end.text).toMatch(/> all traffic leaves through the proxy/);
        expect(searched.end.text).not.toMatch(/Fridays/);
        const learned = await sendText(server, 'what did you learn about ECONNRESET?');
        expect(doings(learned)).toContain('librarian: tool-call search_learnings');
        expect(learned.end.text).toMatch(/> Fix: raise the keep-alive timeout/);
        const again = await sendText(server, 'save knowledge deploy-key: the deploy key rotates on Mondays');
        expect(again.end.text).toMatch(/as version 2/);
        const now = await sendText(server, 'what do you know about the deploy key?');
        expect(now.end.text).toMatch(/Mondays/);
        expect(now.end.text).not.toMatch(/Fridays/);
        const nothing = await sendText(server, 'what do you know about unicorns?');
        expect(nothing.end.text).toMatch(/^Nothing was found/);
      });
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  it('B2 has no retrieval by meaning without an embedding provider, and no web search without a web provider', async () => {
    await withServer({ settings: ON }, async (server) => {
      const card = await (await server.fetch('/agents/librarian/.well-known/agent-card.json')).text();
      expect(card).toContain('"id":"keeping-knowledge"');
      expect(card).not.toMatch(/"id":"(document-retrieval|web-search)"/);
    });
  });
});
