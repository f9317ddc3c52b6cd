import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openKeys } from '../../src/config/node-credentials.js';
import { isTerminal } from '../../src/core/task.js';
import { connect, textPart } from '../../src/index.js';
import type { Home, Server } from '../cli/lango-process.js';
import { ended, makeHome, startServer as startProgram, untilPeersAsked } from '../cli/lango-process.js';
import { freePort } from '../support/free-port.js';
import type { Issuer } from '../support/issuer.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import type { TestServer } from '../support/server.js';
import { startServer } from '../support/server.js';
import { describeSandboxed } from '../capabilities/workspace/exec/setup.js';

/** An orchestrator is killed while two people wait for the operator of another node, and then resumes both tasks. */

const PEOPLE = ['alice', 'bob'] as const;
type Person = (typeof PEOPLE)[number];

let issuer: Issuer;
let node: TestServer;
let home: Home;
let front: Server;

beforeAll(async () => {
  issuer = await startIssuer();
  const port = await freePort();
  const nodeUrl = `http://127.0.0.1:${port}`;
  home = await makeHome(`
auth: { mode: jwt, jwt: { issuer: '${issuer.url}', audience: [${AUDIENCE}] } }
model: { provider: offline }
a2a:
  enabled: true
  publish: [lango-orchestrator]
  remoteAgents: [{ name: operator, url: '${nodeUrl}/agents/operator', owners: forward, audience: '${nodeUrl}/', allowPrivate: true }]
`);
  const { current } = await (await openKeys(home.folder)).read();
  const keys = join(home.folder, 'jwks.json');
  await writeFile(keys, JSON.stringify({ keys: [current.publicJwk] }));
  node = await startServer({
    settings: {
      server: { port },
      approval: { policy: 'none' },
      auth: { nodes: [{ name: 'front', keys }] },
      a2a: { baseUrl: nodeUrl, publish: ['operator'] },
      tools: { fs: { enabled: true }, exec: { enabled: true, sandbox: 'required' } },
    },
  });
  front = await startProgram(home);
  await untilPeersAsked(front.origin, await issuer.token({ sub: PEOPLE[0] }));
});

afterAll(async () => {
  await front.stop();
  await home.remove();
  await node.stop();
  await issuer.close();
});

const clientOf = async (sub: Person) => connect({ url: front.origin, token: await issuer.token({ sub }) });

/** Resolves with the id of the task once an event satisfies the caller, else at the end of the stream. */
async function send(sub: Person, text: string, isEnough: (line: string) => boolean = () => false) {
  const client = await clientOf(sub);
  let taskId = '';
  const parts = [textPart(text)];
  for await (const event of client.send({ parts }, AbortSignal.timeout(100_000))) {
    if (event.type === 'task') taskId ||= event.taskId;
    if (isEnough(JSON.stringify(event))) break;
  }
  return taskId;
}

async function settled(sub: Person, taskId: string) {
  const client = await clientOf(sub);
  for (;;) {
    const task = await client.get({ taskId });
    if (isTerminal(task.state)) return task;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describeSandboxed('a delegation for a person', () => {
  it('resumes after its orchestrator was killed, and is executed once', async () => {
    for (const sub of PEOPLE) await send(sub, `create a file who.txt with only ${sub} knows`);
    const command = 'run `echo ran >> runs.txt; sleep 3; cat who.txt; wc -l < runs.txt`';
    const ids = await Promise.all(
      PEOPLE.map((sub) => send(sub, command, (line) => line.includes('"tool":"exec"'))),
    );
    const gone = ended(front.child);
    front.child.kill('SIGKILL');
    await gone;
    front = await startProgram(home);
    for (const [index, sub] of PEOPLE.entries()) {
      const task = await settled(sub, ids[index]!);
      expect([task.state, JSON.stringify(task.artifacts)]).toEqual([
        'completed',
        expect.stringMatching(`only ${sub} knows1"`),
      ]);
      const other = await clientOf(PEOPLE[1 - index]!);
      await expect(other.get({ taskId: ids[index]! })).rejects.toMatchObject({ code: 'not-found' });
    }
  });
});
