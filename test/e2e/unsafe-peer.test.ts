import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { WireScript, WireServer } from '../a2a/client/wire-server.js';
import { startWireServer } from '../a2a/client/wire-server.js';
import { textOf } from '../../src/core/message.js';
import { ScriptedModel, ask, call, resultsIn, say } from '../support/scripted-model.js';
import { beginTask, startServer, untilEnded } from '../support/server.js';

const DONE = { id: 'far-1', status: { state: 'TASK_STATE_COMPLETED' } };

let home: string;
let peer: WireServer;
let asked: Promise<void>;
let script: WireScript;
beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'lango-unsafe-'));
  let isAsked = () => {};
  asked = new Promise((resolve) => (isAsked = resolve));
  peer = await startWireServer((request, wire) => {
    // The peer accepts the message, and sends nothing yet.
    if (request.method === 'SendStreamingMessage') isAsked();
    else script(request, wire);
  });
});
afterEach(async () => {
  await peer.close();
  await rm(home, { recursive: true });
});

/**
 * An agent that does not recognize a repeated message, and that had not named its task when the process that called it
 * ended.
 */
describe('rule 5: an agent that does not recognize repeated messages', () => {
  it('is not called again after a restart: the outcome is unknown, and the orchestrator gets that result', async () => {
    script = (_call, wire) => wire.refuse(-32601, 'no such method');
    expect(await answerAfterRestart()).toMatch(/^payer failed: the request may have reached it before/);
    expect(sends()).toHaveLength(1);
  });

  it('is not called again when it lists its tasks: its task is found there, and followed', async () => {
    script = ({ method }, wire) => {
      const { contextId, messageId } = sends()[0]!;
      const task = { ...DONE, contextId, artifacts: [{ artifactId: 'a', parts: [{ text: 'paid once' }] }] };
      const history = [{ messageId, role: 'ROLE_USER', parts: [{ text: 'pay' }] }];
      if (method === 'GetTask') wire.answer(task);
      else if (method === 'ListTasks') wire.answer({ tasks: [{ ...task, history }] });
      else wire.refuse(-32004, 'it has ended');
    };
    expect(await answerAfterRestart()).toBe('paid once');
    expect(sends()).toHaveLength(1);
  });
});

async function answerAfterRestart(): Promise<string> {
  const remoteAgents = [{ name: 'payer', url: peer.origin, allowPrivate: true }];
  const options = {
    home,
    settings: { server: { port: 0 }, a2a: { enabled: true, remoteAgents } },
    model: new ScriptedModel({
      orchestrator: [call(ask('payer', 'pay')), (request) => say(resultsIn(request)[0]!)],
    }),
  };
  const before = await startServer(options);
  const id = await beginTask(before, 'pay');
  await asked;
  await before.stop();
  const after = await startServer(options);
  try {
    const { artifacts } = await untilEnded(after, id);
    return artifacts.map(({ parts }) => textOf(parts)).join('');
  } finally {
    await after.stop();
  }
}

function sends() {
  return peer.calls
    .filter(({ method }) => method === 'SendStreamingMessage')
    .map(({ params }) => params['message'] as { readonly contextId: string; readonly messageId: string });
}
