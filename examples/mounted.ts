/**
 * Lango inside an express app, beside routes of its own. Run it: `npx node dist/examples/mounted.js`
 */
import express from 'express';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Agent } from 'lango';
import { connect, createServer, textOf, textPart } from 'lango';

const echo: Agent = {
  profile: { name: 'echo', description: 'Repeats each message.', skills: [] },
  async run(run) {
    const text = `You said: ${textOf(run.inputs[0]!.message.parts)}`;
    run.emit({ type: 'text-delta', artifactId: 'answer', text, replace: true });
    return { state: 'completed' };
  },
};

const home = await mkdtemp(path.join(tmpdir(), 'lango-example-'));
const lango = createServer({ home, agents: [echo] });

const app = express();
app.use('/agents', lango.router());
app.get('/', (_request, response) => void response.send('a page of the app'));

const { token } = await lango.start({ listen: false });
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
try {
  console.log(await (await fetch(origin)).text());
  const client = connect({ url: `${origin}/agents/agents/echo`, ...(token ? { token } : {}) });
  for await (const event of client.send({ parts: [textPart('hello')] }, new AbortController().signal)) {
    if (event.type === 'end') console.log(event.text);
  }
} finally {
  server.close();
  await lango.stop();
  await rm(home, { recursive: true });
}
