import { describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestServer } from '../support/server.js';
import { doings, sendText, withServer } from '../support/server.js';

const ON = { server: { port: 0 }, tools: { fs: { enabled: false }, exec: { enabled: false } } };

async function toolsOf(server: TestServer): Promise<string> {
  return (await server.fetch('/agents/librarian/.well-known/agent-card.json')).text();
}

describe('B. The knowledge graph', () => {
  it('B1 is used by the librarian when graph.enabled is on, and absent otherwise', async () => {
    await withServer({ settings: { ...ON, graph: { enabled: true } } }, async (server) => {
      expect(server.address.agents).toContain('librarian');
      expect(await toolsOf(server)).toContain('"id":"knowledge-graph"');
    });
    await withServer({}, async (server) => {
      expect(server.address.agents).not.toContain('librarian');
    });
  });

  it('B1 is filled and queried by plain sentences through the orchestrator, also after a restart', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-graph-'));
    const settings = { ...ON, graph: { enabled: true } };
    try {
      await withServer({ home, settings }, async (server) => {
        const added = await sendText(server, 'add to the graph that checkout depends on billing');
        expect(doings(added)).toContain('librarian: tool-call graph_add');
        expect(added.end).toMatchObject({ state: 'completed' });
        await sendText(server, 'add to the graph that invoices depends on checkout');
      });
      await withServer({ home, settings }, async (server) => {
        const asked = await sendText(server, 'what depends on billing?');
        expect(doings(asked)).toContain('librarian: tool-call graph_query');
        expect(asked.end.text).toMatch(/checkout \| depends on \| billing/);
        const walked = await sendText(server, 'what is connected to billing?');
        expect(doings(walked)).toContain('librarian: tool-call graph_traverse');
        expect(walked.end.text).toMatch(/invoices \| depends on \| checkout/);
        const removed = await sendText(server, 'remove from the graph that checkout depends on billing');
        expect(removed.end).toMatchObject({ state: 'completed' });
        expect((await sendText(server, 'what depends on billing?')).end.text).toMatch(/no such triple/);
      });
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
});
