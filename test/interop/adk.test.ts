import { expect, it } from '@jest/globals';
import { toolNamed } from '../support/agent-fixtures.js';
import { anthropicWire } from '../support/anthropic-wire.js';
import { API_KEY } from '../support/model-wire.js';
import { ScriptedServer, events } from '../support/scripted-server.js';
import { withServer } from '../support/server.js';
import { describeWith, runClient } from './framework.js';

/** A model that writes each file that its newest user turn names, as WRITE one. */
async function obedient(): Promise<ScriptedServer> {
  const vendor = await ScriptedServer.open();
  vendor.willAlwaysReply((response, request) => {
    const { messages } = request.body as unknown as { readonly messages: readonly object[] };
    const newest = JSON.stringify(messages.at(-1));
    const paths = [...newest.matchAll(/WRITE (\w+)/g)].map(([, path]) => path);
    const calls = paths.map((path, at) => ({
      id: `c${at}`,
      name: 'exec_write',
      json: [JSON.stringify({ path })],
    }));
    const isDone = newest.includes('"tool_result"');
    const answer = isDone
      ? anthropicWire.answer({ texts: ['It is ', 'written', '.'], stop: 'end' })
      : anthropicWire.answer({ texts: ['I write ', 'it.'], calls, stop: 'function-calls' });
    return events(answer)(response, request);
  });
  return vendor;
}

describeWith('adk', () => {
  it('an ADK agent stores our response once, continues the context, and repeats no action', async () => {
    await using vendor = await obedient();
    const written: string[] = [];
    const tool = toolNamed('exec_write', {
      execute: async (path) => {
        written.push(path);
        return { content: `${path} is written` };
      },
    });
    const model = {
      provider: 'anthropic' as const,
      name: 'claude-test',
      apiKey: API_KEY,
      baseUrl: vendor.url,
    };
    await withServer({ tools: [tool], settings: { server: { port: 0 }, model } }, async ({ address }) => {
      const url = `${address.origin}/agents/operator`;
      const stored = await runClient('adk', 'adk-client.mjs', [
        url,
        address.token!,
        'WRITE one',
        'WRITE two',
      ]);
      expect(written).toEqual(['one', 'two']);
      expect(stored).toEqual([
        { author: 'user', texts: ['WRITE one'] },
        { author: 'remote', texts: ['It is written.'] },
        { author: 'user', texts: ['WRITE two'] },
        { author: 'remote', texts: ['It is written.'] },
      ]);
    });
  });
});
