// A VoltAgent agent behind its own server. Prints the address of the agent. It has no description unless one is given.
import { Agent, VoltAgent } from '@voltagent/core';
import { A2AServer } from '@voltagent/a2a-server';
import { honoServer } from '@voltagent/server-hono';
import { createServer } from 'node:net';
const probe = createServer().listen(0, '127.0.0.1');
await new Promise((resolve) => probe.once('listening', resolve));
const { port } = probe.address();
await new Promise((resolve) => probe.close(resolve));
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const model = {
  specificationVersion: 'v3',
  provider: 'scripted',
  modelId: 'scripted',
  supportedUrls: {},
  doGenerate: async () => ({
    content: [{ type: 'text', text: 'Volt did it.' }],
    finishReason: { unified: 'stop' },
    usage,
    warnings: [],
  }),
  doStream: async () => ({
    stream: ReadableStream.from([
      { type: 'stream-start', warnings: [] },
      { type: 'text-start', id: '1' },
      ...['Volt ', 'did ', 'it.'].map((delta) => ({ type: 'text-delta', id: '1', delta })),
      { type: 'text-end', id: '1' },
      { type: 'finish', finishReason: { unified: 'stop' }, usage },
    ]),
  }),
};
const agent = new Agent({
  id: 'volt',
  name: 'volt',
  instructions: 'Do it.',
  purpose: process.argv[2],
  model,
});
new VoltAgent({
  agents: { volt: agent },
  a2aServers: { volt: new A2AServer({ id: 'volt', name: 'volt', version: '1.0.0', description: 'x' }) },
  server: honoServer({ port }),
});
const url = `http://127.0.0.1:${port}/a2a/volt`;
for (;;) {
  const ok = await fetch(`http://127.0.0.1:${port}/.well-known/volt/agent-card.json`).then(
    (r) => r.ok,
    () => false,
  );
  if (ok) break;
  await new Promise((r) => setTimeout(r, 100));
}
console.log(JSON.stringify({ url }));
