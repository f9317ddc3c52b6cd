import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.js';
import { Obedient } from '../support/obedient-model.js';
import { followOrders, scriptedAgent } from '../support/scripted-agent.js';
import { sendText, withServer } from '../support/server.js';
import { FOLDER, PEERS } from './framework.js';
import { Lines } from './line-peer.js';

/** BeeAI speaks A2A 0.3, whose addresses of gRPC it hands to its library as they are on the card. */
const place = path.join(FOLDER ?? '', 'beeai');
const isThere = FOLDER !== undefined && existsSync(path.join(place, 'installed'));
if (!isThere)
  console.warn('SKIPPED: BeeAI is not installed: .ci/frameworks FOLDER all, LANGO_TEST_FRAMEWORKS=FOLDER');

(isThere ? describe : describe.skip)('BeeAI over gRPC', () => {
  let folder: string;
  let served: ChildProcess | undefined;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'beeai-'));
    const programs = { my_agent: 'recipes/beeai.py', lines: 'recipes/lines.py', peer: 'beeai_grpc.py' };
    for (const [name, program] of Object.entries(programs))
      await copyFile(path.join(PEERS, program), path.join(folder, `${name}.py`));
  });
  afterEach(async () => {
    if (served?.exitCode !== null) return;
    const closed = once(served, 'close');
    served.kill('SIGKILL');
    await closed;
  });
  afterAll(() => rm(folder, { recursive: true }));

  const start = (...ports: readonly number[]): ChildProcess =>
    spawn(path.join(place, 'bin/python'), ['peer.py', ...ports.map(String)], { cwd: folder });

  it('calls the root agent at the address that the card names', async () => {
    const settings = {
      server: { port: 0, grpc: { enabled: true, port: 0 } },
      auth: { mode: 'none' as const },
      a2a: { publish: ['worker'] },
    };
    const agents = [scriptedAgent('worker', followOrders)];
    await withServer({ agents, settings }, async ({ address: { origin } }) => {
      await using peer = new Lines(start());
      const said = await peer.do('say', { url: origin, text: 'say hello' });
      expect(said).toEqual({ answer: 'hello', address: expect.stringMatching(/^127\.0\.0\.1:\d+$/) });
    });
  });

  it('is called as a remote agent at the address of its card', async () => {
    const [port, cardPort] = [await freePort(), await freePort()];
    served = start(port, cardPort);
    served.stdout!.resume();
    served.stderr!.resume();
    const url = `http://127.0.0.1:${cardPort}`;
    while (!(await fetch(`${url}/.well-known/agent-card.json`).catch(() => undefined))) {
      expect(served.exitCode).toBeNull();
      await delay(200);
    }
    const remoteAgents = [{ name: 'bee', url, allowPrivate: true as const }];
    const settings = { server: { port: 0 }, a2a: { enabled: true, remoteAgents } };
    await withServer({ model: new Obedient(), settings }, async (server) => {
      const request = JSON.stringify({ agent_name: 'bee', request: 'say hello' });
      const { end } = await sendText(server, `transfer_to_agent ${request}`);
      expect(end).toMatchObject({
        state: 'completed',
        text: expect.stringContaining('BeeAI did: say hello'),
      });
    });
  });
});
