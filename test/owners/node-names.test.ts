import { afterEach, describe, expect, it } from '@jest/globals';
import { toolNamed } from '../support/agent-fixtures.js';
import { say, ScriptedModel, ask, call } from '../support/scripted-model.js';
import { sendText, startServer, type TestServer } from '../support/server.js';
import { langoHere } from '../cli/lango-here.js';

const open: TestServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.stop();
});

const TOOLS = [toolNamed('fs_read', { execute: async () => ({ content: 'hi' }) })];

async function start(model: ScriptedModel, settings: object): Promise<TestServer> {
  const server = await startServer({ model, tools: TOOLS, settings: { server: { port: 0 }, ...settings } });
  open.push(server);
  return server;
}

const used = (text: string) => ({ ...say(text), usage: { input: 100, output: 10, cached: 0 } });

/** A node that asks another one as `desk`, without naming the person, and has asked it once. */
async function askOnce(farNode: object): Promise<TestServer> {
  const far = await start(new ScriptedModel({ operator: [used('It is done.')] }), {
    a2a: { publish: ['operator'] },
    ...farNode,
  });
  const { origin: url, token = '' } = far.address;
  const remoteAgents = [{ name: 'desk', url, token, allowPrivate: true }];
  const near = await start(
    new ScriptedModel({ orchestrator: [call(ask('desk', 'tidy up')), used('All done.')] }),
    { node: { name: 'loom' }, a2a: { enabled: true, publish: ['lango-orchestrator'], remoteAgents } },
  );
  expect((await sendText(near, 'tidy up, please')).end.state).toBe('completed');
  return near;
}

const namesIn = async (server: TestServer) => {
  const { nodes } = (await (await server.fetch('/lango/nodes')).json()) as {
    nodes: readonly { readonly id: string; readonly name: string; readonly url?: string }[];
  };
  return nodes;
};

async function billOf(server: TestServer): Promise<string> {
  const env = { LANGO_URL: server.address.origin, LANGO_TOKEN: server.address.token! };
  return (await langoHere(['bill', '--by', 'node'], { env })).stdout;
}

describe('the node of a remote agent that is not told the owner', () => {
  it('has the name that its operator gave it, by the card of its agent', async () => {
    const near = await askOnce({ node: { name: 'weft' } });
    expect((await namesIn(near)).map(({ name }) => name)).toEqual(['loom', 'weft']);
    expect((await billOf(near)).match(/^\S+/gm)?.toSorted()).toEqual(['loom', 'weft']);
  });

  it('has the name of its agent here when its operator gave none', async () => {
    const near = await askOnce({});
    const [, far] = await namesIn(near);
    expect(far).toMatchObject({ name: 'desk', id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(await billOf(near)).toMatch(/^desk +100 in/m);
  });

  it('has the name of its agent here while no card came', async () => {
    const remoteAgents = [{ name: 'desk', url: 'http://127.0.0.1:1', allowPrivate: true }];
    const near = await start(new ScriptedModel({}), { a2a: { enabled: true, remoteAgents } });
    expect((await namesIn(near))[1]).toEqual({
      ...{ id: 'http://127.0.0.1:1', name: 'desk', url: 'http://127.0.0.1:1' },
    });
  });
});
