import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { OldServer } from '../a2a/client/old-server.js';
import { startOldServer } from '../a2a/client/old-server.js';
import { ScriptedModel, ask, call, resultsIn, say } from '../support/scripted-model.js';
import { sendText, withServer } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { describeWith, startPeer } from './framework.js';
import type { FrameworkServer } from './framework.js';

/** Agents of other frameworks as sub-agents of a whole server, whose orchestrator asks them once and repeats the answer. */

let remote: FrameworkServer | undefined;
afterEach(() => remote?.stop());

type Use = (server: TestServer, model: ScriptedModel) => Promise<void>;

async function withRemote(program: string, use: Use): Promise<void> {
  remote = await startPeer(program, `${program}.mjs`);
  await withAgentAt({ url: remote.url }, 'go', use);
}

async function withAgentAt(
  settings: { readonly url: string; readonly relocate?: boolean },
  request: string,
  use: Use,
): Promise<void> {
  const model = new ScriptedModel({ orchestrator: [call(ask('remote', request)), say('Done.')] });
  const peer = { name: 'remote', allowPrivate: true, ...settings };
  const a2a = { enabled: true, remoteAgents: [peer] };
  await withServer({ model, settings: { server: { port: 0 }, a2a } }, async (server) => {
    // A server starts without waiting for its peers.
    const isKnown = (line: unknown): boolean =>
      /agent (joined|skipped).*"remote"/.test(JSON.stringify(line).replaceAll('\\', ''));
    for (let round = 0; round < 100 && !server.log.lines.some(isKnown); round += 1) await delay(50);
    await use(server, model);
  });
}

describeWith('strands', () => {
  it('a card of version 0.2.0 is spoken to as 0.3', async () => {
    await withRemote('strands', async (server, model) => {
      await sendText(server, 'ask it');
      expect(resultsIn(model.asked('orchestrator')[1])).toEqual(['Strands did go.']);
    });
  });
});

describeWith('voltagent', () => {
  it('results without kind behind record separators are read, from a card without description', async () => {
    await withRemote('voltagent', async (server, model) => {
      await sendText(server, 'ask it');
      expect(resultsIn(model.asked('orchestrator')[1])).toEqual(['Volt did it.']);
    });
  });
});

describeWith('mastra', () => {
  it('shows what a person approves, and the reply has the form that the agent asked for', async () => {
    await withRemote('mastra', async (server, model) => {
      const asked = await sendText(server, 'ask it');
      expect(asked.end.state).toBe('input-required');
      expect(asked.end.text).toMatch(/delete_files[^]*\/srv\/data[^]*approved \("boolean"\)/);
      const { end } = await sendText(server, 'yes', { taskId: asked.taskId });
      expect(end).toMatchObject({ state: 'completed', text: 'Done.' });
      expect(resultsIn(model.asked('orchestrator')[1])).toEqual([
        expect.stringContaining('"deleted":"/srv/data"'),
      ]);
    });
  });
});

describe('with a stock executor of the 0.3 line', () => {
  let old: OldServer;
  beforeEach(async () => void (old = await startOldServer('JSONRPC')));
  afterEach(() => old.close());

  it.each([
    ['its error, which comes under another task id', 'throw', /failed: .*the disk is full/],
    ['an answer that comes after its end', 'late', /^better late$/],
  ])('the orchestrator gets %s', async (_, request, wanted) => {
    await withAgentAt({ url: old.origin }, request, async (server, model) => {
      await sendText(server, 'ask it');
      expect(resultsIn(model.asked('orchestrator')[1])[0]).toMatch(wanted);
    });
  });

  it("a question in Gemini CLI's messages at work reaches the person whole", async () => {
    await withAgentAt({ url: old.origin }, 'gemini', async (server) => {
      const { end } = await sendText(server, 'ask it');
      expect(end.state).toBe('input-required');
      expect(end.text).toMatch(/I have to run a command\.[^]*"command": "rm -rf build"/);
    });
  });

  it('a card that names localhost is refused with the address that works, and relocate calls it where it is', async () => {
    const url = old.origin.replace('127.0.0.1', 'localhost');
    await withAgentAt({ url }, 'hello', async (server) => {
      const skipped = server.log.lines.find((line) => JSON.stringify(line).includes('agent skipped'));
      expect(JSON.stringify(skipped)).toMatch(new RegExp(`set url to ${old.origin} .*relocate: true`));
    });
    await withAgentAt({ url, relocate: true }, 'hello', async (server, model) => {
      await sendText(server, 'ask it');
      expect(resultsIn(model.asked('orchestrator')[1])).toEqual(['you said hello']);
    });
  });
});
