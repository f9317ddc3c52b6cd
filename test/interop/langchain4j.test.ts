import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { followOrders, scriptedAgent } from '../support/scripted-agent.js';
import { type TestServer, startServer } from '../support/server.js';
import { record } from './cell.js';
import { FOLDER, PEERS } from './framework.js';
import { Lines } from './line-peer.js';

/** LangChain4j, whose agents are clients only. It has no recipe: it is a program in Java. */
const place = path.join(FOLDER ?? '', 'langchain4j');
const isThere = FOLDER !== undefined && existsSync(path.join(place, 'installed'));
if (!isThere)
  console.warn(
    'SKIPPED: LangChain4j is not installed: .ci/frameworks FOLDER all, LANGO_TEST_FRAMEWORKS=FOLDER',
  );

(isThere ? describe : describe.skip)('LangChain4j with Lango as its sub-agent', () => {
  const pom = readFileSync(path.join(PEERS, 'langchain4j', 'pom.xml'), 'utf8');
  const row = {
    peer: 'LangChain4j',
    peerVersion: /<version>([\w.-]+)<\/version><\/dependency>/.exec(pom)![1],
    role: 'with Lango as its sub-agent',
  };
  let server: TestServer;
  let peer: Lines;
  beforeAll(async () => {
    const agents = [scriptedAgent('worker', followOrders)];
    // Its builder has no setting for a token.
    const settings = { server: { port: 0 }, auth: { mode: 'none' as const }, a2a: { publish: ['worker'] } };
    server = await startServer({ agents, settings });
    peer = new Lines(spawn('java', ['-cp', `${place}/classes:${place}/lib/*`, 'Peer']));
  });
  afterAll(async () => {
    await peer[Symbol.asyncDispose]();
    await server.stop();
    const why =
      'It is a client only. Its calls are sends of texts, without a token, and each is a task of its own.';
    record({ peer: row.peer, role: 'any', why });
  });

  it.each([
    ['send', 'say hello', 'hello'],
    ['ask', 'ask', 'what shall I say?'],
    ['errors', 'refuse', 'not my work'],
  ])('%s', async (operation, text, answer) => {
    const url = `${server.address.origin}/agents/worker`;
    expect((await peer.do('say', { url, text })).answer).toContain(answer);
    record({ ...row, operation, works: true });
  });
});
