import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { langoHere } from '../cli/lango-here.js';
import { makeHome } from '../cli/lango-process.js';
import { ScriptedModel, ask, call, resultsIn, say } from '../support/scripted-model.js';
import { sendText, startServer, withServer, type TestServer } from '../support/server.js';

interface PeerState {
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
  readonly hint?: string;
  readonly description?: string;
}

async function stateOf(server: TestServer, name: string): Promise<PeerState | undefined> {
  const { peers } = (await (await server.fetch('/lango/agents')).json()) as {
    readonly peers: readonly PeerState[];
  };
  return peers.find((peer) => peer.name === name);
}

const entryOf = ({ address }: TestServer, more: { name: string; token?: string; description?: string }) => ({
  url: `${address.origin}/agents/lango-orchestrator`,
  token: address.token!,
  allowPrivate: true,
  ...more,
});

it('a remote agent that refuses the credential is degraded after one call, with the reason, until it accepts one', async () => {
  const far = await startServer({ model: new ScriptedModel({ orchestrator: [say('far away')] }) });
  const scripts = { orchestrator: [call(ask('far', 'go')), say('done')] };
  const model = new ScriptedModel(scripts);
  const settingsWith = (token: string) => ({
    server: { port: 0 },
    a2a: { enabled: true, remoteAgents: [entryOf(far, { name: 'far', token })] },
  });
  const wrong = 'a-wrong-token-of-a-far-node-4711';
  try {
    await withServer({ model, settings: settingsWith(wrong) }, async (server) => {
      expect(await stateOf(server, 'far')).toMatchObject({ state: 'ready' });
      expect((await sendText(server, 'go')).end.state).toBe('completed');
      const refused = { state: 'degraded', hint: expect.stringContaining('a2a.remoteAgents') };
      const state = await stateOf(server, 'far');
      expect(state).toMatchObject(refused);
      expect(state!.reason).toMatch(/\w/);
      const warnings = server.log.lines.filter((line) => line.includes('agent refuses the credential'));
      expect(warnings).toEqual([expect.stringMatching(/"warn".*"agent":"far"/)]);

      const env = { LANGO_URL: server.address.origin, LANGO_TOKEN: server.address.token! };
      const { stdout } = await langoHere(['agents'], { env });
      expect(stdout).toContain('degraded');
      expect(stdout).toContain(state!.reason);
      const home = await makeHome();
      const doctor = await langoHere(['doctor'], { env: { ...home.env, ...env } });
      await home.remove();
      expect(doctor.stdout).toMatch(/^warn {2}agent far: in the running server degraded: /m);

      await server.reload(settingsWith(far.address.token!));
      expect((await sendText(server, 'go')).end.state).toBe('completed');
      expect(resultsIn(model.asked('orchestrator').at(-1)).join()).toContain('far away');
      expect(await stateOf(server, 'far')).toMatchObject({ state: 'ready' });
    });
  } finally {
    await far.stop();
  }
});

/** Stands before a server, and takes one token at a time in place of the server's own. */
async function gateOf({ address }: TestServer, accepted: { token: string }) {
  const gate = createServer((asked, response) => {
    const { method, headers, url = '' } = asked;
    const isPublic = url.includes('.well-known');
    if (!isPublic && headers.authorization !== `Bearer ${accepted.token}`) {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
      return;
    }
    const authorization = { authorization: `Bearer ${address.token!}` };
    const sent = request(address.origin + url, { method, headers: { ...headers, ...authorization } });
    sent.on('response', (got) => got.pipe(response.writeHead(got.statusCode!, got.headers)));
    asked.pipe(sent);
  }).listen(0, '127.0.0.1');
  await once(gate, 'listening');
  return { gate, origin: `http://127.0.0.1:${(gate.address() as AddressInfo).port}` };
}

it('a request that a remote agent refuses between two tokens is sent again with the next one, and the person is told', async () => {
  const farModel = new ScriptedModel({ orchestrator: [say('far away')] });
  const far = await startServer({ model: farModel });
  const accepted = { token: 'the-first-token-of-a-far-node-4711' };
  const { gate, origin } = await gateOf(far, accepted);
  const scripts = {
    orchestrator: [call(ask('far', 'go')), say('done')],
  };
  const model = new ScriptedModel(scripts);
  const settings = () => ({
    server: { port: 0 },
    a2a: {
      enabled: true,
      remoteAgents: [
        { ...entryOf(far, { name: 'far', ...accepted }), url: `${origin}/agents/lango-orchestrator` },
      ],
    },
  });
  try {
    await withServer({ model, settings: settings() }, async (server) => {
      expect((await sendText(server, 'go')).end.state).toBe('completed');
      accepted.token = 'the-second-token-of-a-far-node-4711';
      const waiting = sendText(server, 'go');
      await server.log.saying('agent refuses the credential');
      expect(await stateOf(server, 'far')).toMatchObject({ state: 'degraded' });
      await server.reload(settings());
      const { end, events } = await waiting;
      expect(end.state).toBe('completed');
      expect(resultsIn(model.asked('orchestrator').at(-1)).join()).toContain('far away');
      expect(JSON.stringify(events)).toContain('Waiting for far: ');
    });
  } finally {
    gate.close();
    await far.stop();
  }
});

it('two remote agents with the same card are told apart by the descriptions of their entries', async () => {
  const far = await startServer({ model: new ScriptedModel({}) });
  const model = new ScriptedModel({ orchestrator: [say('hello')] });
  const remoteAgents = [
    entryOf(far, { name: 'far-one', description: 'Knows the accounts of 2025.' }),
    entryOf(far, { name: 'far-two', description: 'Knows the accounts of 2026.' }),
  ];
  const settings = { server: { port: 0 }, a2a: { enabled: true, remoteAgents } };
  try {
    await withServer({ model, settings }, async (server) => {
      await sendText(server, 'hello');
      const prompt = model
        .asked('orchestrator')[0]!
        .system.map(({ text }) => text)
        .join('\n');
      expect(prompt).toMatch(/far-one.*\n.*Knows the accounts of 2025\./);
      expect(prompt).toMatch(/far-two.*\n.*Knows the accounts of 2026\./);
      expect(await stateOf(server, 'far-two')).toMatchObject({ description: 'Knows the accounts of 2026.' });
    });
  } finally {
    await far.stop();
  }
});
