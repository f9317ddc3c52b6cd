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
    memory: { enabled: true },
  },
  graph: { enabled: false },
};

describe('B. Facts from plain sentences', () => {
  it('B3 remembers and recalls a fact through the orchestrator and the chronicler, also after a restart', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-facts-'));
    try {
      await withServer({ home, settings: ON }, async (server) => {
        const stored = await sendText(server, 'remember that the deploy key rotates on Fridays');
        expect(doings(stored)).toContain('chronicler: tool-call memory_store');
        expect(stored.end.text).toBe('Remembered: the deploy key rotates on Fridays');
        const again = await sendText(server, 'Remember: The deploy key rotates on  Fridays.');
        expect(again.end.text).toMatch(/^This was remembered before/);
        await sendText(server, 'remember that 部署密钥每周五轮换');
      });
      await withServer({ home, settings: ON }, async (server) => {
        const recalled = await sendText(server, 'what do you remember about the deploy key?');
        expect(doings(recalled)).toContain('chronicler: tool-call memory_recall');
        expect(recalled.end.text).toMatch(/fact \[memory; saved [-\d]+\]\n +> The deploy key rotates/);
        expect(recalled.end.text).toMatch(/^One result/);
        expect((await sendText(server, 'recall 密钥')).end.text).toMatch(/部署密钥每周五轮换/);
        const known = await sendText(server, 'what do you know about the deploy key?');
        expect(known.end.text).toMatch(/> The deploy key rotates/);
      });
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  it('B3 shows facts as knowledge only where there is no knowledge', async () => {
    await withServer({ settings: ON }, async (server) => {
      await sendText(server, 'remember that the deploy key rotates on Fridays');
      await sendText(server, 'save knowledge deploy-key: the deploy key lies in the safe');
      const known = await sendText(server, 'what do you know about the deploy key?');
      expect(known.end.text).toMatch(/> the deploy key lies in the safe/);
      expect(known.end.text).not.toMatch(/Fridays/);
    });
  });

  it('B3 forgets a fact by its words, or the only one that matches, and none when several do', async () => {
    await withServer({ settings: ON }, async (server) => {
      await sendText(server, 'remember that the deploy key rotates on Fridays');
      await sendText(server, 'remember that the backup key lies in the safe');
      await sendText(server, 'remember that tea is at four');
      const several = await sendText(server, 'forget what you remember about key');
      expect(several.end.text).toMatch(/several facts match[^]*Fridays[^]*safe|safe[^]*Fridays/);
      const one = await sendText(server, 'forget what you remember about the backup key');
      expect(doings(one)).toContain('chronicler: tool-call memory_forget');
      expect(one.end.text).toBe('Forgotten: the backup key lies in the safe');
      const exact = await sendText(server, 'forget that tea is at four');
      expect(exact.end.text).toBe('Forgotten: tea is at four');
      expect((await sendText(server, 'what do you remember about tea?')).end.text).toMatch(/^Nothing/);
      expect((await sendText(server, 'recall the key')).end.text).toMatch(/^One result/);
    });
  });
});
