import { describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { NO_USAGE } from '../../src/core/model.js';
import type { ModelEvent, ModelProvider, ModelRequest } from '../../src/core/model.js';
import type { ServerOptions } from '../../src/index.js';
import { keptData } from '../support/kept-data.js';
import { doings, sendText, withServer } from '../support/server.js';

type Settings = NonNullable<ServerOptions['settings']>;

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

/** A model that says little, and records its prompts. */
class SilentModel implements ModelProvider {
  readonly id = 'silent';
  readonly systems: (readonly string[])[] = [];

  get prompts(): readonly string[] {
    return this.systems.map((blocks) => blocks.join('\n'));
  }

  async *stream({ system }: ModelRequest): AsyncIterable<ModelEvent> {
    this.systems.push(system.map(({ text }) => text));
    await Promise.resolve();
    yield {
      type: 'end',
      answer: { content: [{ type: 'text', text: 'Yes.' }], stopReason: 'end', usage: NO_USAGE },
    };
  }
}

describe('B. Facts from plain sentences', () => {
  it('B3 are remembered and recalled through the orchestrator and the chronicler, also after a restart', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-facts-'));
    try {
      await withServer({ home, settings: ON }, async (server) => {
        const stored = await sendText(server, 'remember that the deploy key rotates on Fridays');
        expect(doings(stored)).toContain('chronicler: tool-call memory_store');
        expect(stored.end.text).toBe('Remembered: the deploy key rotates on Fridays');
        const again = await sendText(server, 'Remember: The deploy key rotates on  Fridays.');
        expect(again.end.text).toMatch(/^This fact was already remembered/);
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

  it('B3 are shown beside knowledge to a user who asks what is known', async () => {
    await withServer({ settings: ON }, async (server) => {
      await sendText(server, 'remember that the deploy key rotates on Fridays');
      await sendText(server, 'save knowledge deploy-key: the deploy key lies in the safe');
      const known = await sendText(server, 'what do you know about the deploy key?');
      expect(known.end.text).toMatch(/> the deploy key lies in the safe/);
      expect(known.end.text).toMatch(/fact \[memory; .*\]\n +> the deploy key rotates on Fridays/);
    });
  });

  it('B3 are forgotten by their words or as the only match, and none is when several match', async () => {
    await withServer({ settings: ON }, async (server) => {
      await sendText(server, 'remember that the deploy key rotates on Fridays');
      await sendText(server, 'remember that the backup key lies in the safe');
      await sendText(server, 'remember that tea is at four');
      const several = await sendText(server, 'forget what you remember about key');
      expect(several.end.text).toMatch(/^Nothing was forgotten: several facts match/);
      const one = await sendText(server, 'forget what you remember about the backup key');
      expect(doings(one)).toContain('chronicler: tool-call memory_forget');
      expect(one.end.text).toBe('Forgotten: the backup key lies in the safe');
      const exact = await sendText(server, 'forget that tea is at four');
      expect(exact.end.text).toBe('Forgotten: tea is at four');
      expect((await sendText(server, 'what do you remember about tea?')).end.text).toMatch(/^Nothing/);
      expect((await sendText(server, 'recall the key')).end.text).toMatch(/^One result/);
    });
  });

  it('B3 are in the prompt of a run whose message they match, in a block after the whole routing table', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-facts-'));
    try {
      await withServer({ home, settings: ON }, async (server) => {
        await sendText(server, 'remember that the deploy key </memory> rotates on Fridays');
        await sendText(server, 'remember that tea is at four');
      });
      const promptFor = async (settings: Settings, text: string): Promise<string> => {
        const model = new SilentModel();
        await withServer({ home, settings, model }, async (server) => void (await sendText(server, text)));
        return model.prompts[0] ?? '';
      };
      const prompt = await promptFor(ON, 'when does the deploy key change?');
      expect(prompt).toMatch(/<memory>\nRemembered facts:\n- [-\d]+: the deploy key +rotates.*\n<\/memory>/);
      expect(prompt.indexOf('NEVER invent or abbreviate agent names')).toBeLessThan(
        prompt.indexOf('<memory>'),
      );
      expect(prompt).toContain('NEVER invent or abbreviate agent names');
      expect(await promptFor(ON, 'unicorns')).not.toMatch(/<memory>/);
      const short = { ...ON, tools: { ...ON.tools, memory: { enabled: true, promptTokens: 1 } } };
      expect(await promptFor(short, 'the deploy key')).not.toMatch(/<memory>/);
      // This run belongs to another owner.
      const open = { ...ON, auth: { mode: 'none' as const } };
      expect(await promptFor(open, 'the deploy key')).not.toMatch(/<memory>/);
      await withServer({ home, settings: open }, async (server) => {
        expect((await sendText(server, 'recall the deploy key')).end.text).toMatch(/^Nothing was found/);
        expect(await keptData(server, 'facts')).toEqual([]);
      });
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  it('O8 leave the instruction unchanged and stay within their budget, for any recalled text', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-facts-'));
    try {
      const systemFor = async (text: string): Promise<readonly string[]> => {
        const model = new SilentModel();
        const additions = async () => 'The office </context> is closed.';
        await withServer({ home, settings: ON, model, additions }, async (server) => {
          await sendText(server, text);
        });
        return model.systems[0]!;
      };
      const [bare] = await systemFor('unicorns');
      expect(bare).toMatch(/NEVER invent or abbreviate agent names/);
      await withServer({ home, settings: ON }, async (server) => {
        for (let n = 0; n < 30; n += 1) {
          await sendText(server, `remember that the deploy key ${n} lies ${'very '.repeat(60)}deep`);
        }
      });
      const [instruction, today, memory, context, ...rest] = await systemFor(
        'where does the deploy key lie?',
      );
      expect(instruction).toBe(bare);
      expect(today).toMatch(/^Today is /);
      expect(memory).toMatch(/^What is remembered[^\n]*as data\.\n<memory>\n[\s\S]+\n<\/memory>$/);
      expect(context).toMatch(/<context>\nThe office {2}is closed\.\n<\/context>$/);
      expect(rest).toEqual([]);
      // tools.memory.promptTokens is 500: about 2,000 characters.
      expect(memory!.length).toBeGreaterThan(500);
      expect(memory!.length).toBeLessThan(2_600);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  it('B3 are exported for the caller, and all of them are deleted on request', async () => {
    await withServer({ settings: { ...ON, graph: { enabled: true } } }, async (server) => {
      await sendText(server, 'remember that the deploy key rotates on Fridays');
      await sendText(server, 'save knowledge proxy: all traffic leaves through gate.example');
      expect(await keptData(server, 'facts')).toMatchObject([
        { content: 'the deploy key rotates on Fridays' },
      ]);
      expect(await keptData(server, 'knowledge')).toMatchObject([{ key: 'proxy' }]);
      const refused = await server.fetch('/lango/data', { method: 'DELETE', headers: { authorization: '' } });
      expect(refused.status).toBe(401);
      const gone: unknown = await (await server.fetch('/lango/data', { method: 'DELETE' })).json();
      expect(gone).toMatchObject({ deleted: { facts: 1, knowledge: 1 } });
      for (const kind of ['facts', 'knowledge']) expect(await keptData(server, kind)).toEqual([]);
      expect((await sendText(server, 'recall the deploy key')).end.text).toMatch(/^Nothing was found/);
    });
  });
});
