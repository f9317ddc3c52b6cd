/**
 * A tool and a model of your own in the flat mode: one agent, all tools. Run it: `npx node dist/examples/own-tool-and-model.js`
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ModelProvider } from 'lango';
import { connect, createServer, defineTool, textPart } from 'lango';
import { z } from 'zod';

const weather = defineTool({
  name: 'search_weather',
  description: 'The weather of a city.',
  schema: z.strictObject({ city: z.string().min(1) }),
  effect: 'pure',
  execute: async ({ city }) => ({ content: `In ${city} the sun shines, 21 degrees.` }),
});

/** Calls the tool once, then repeats what it said. */
const parrot: ModelProvider = {
  id: 'parrot',
  async *stream({ messages }) {
    const usage = { input: 1, output: 1, cached: 0 };
    const last = messages.at(-1);
    if (last?.role === 'results') {
      const text = last.results.map(({ content }) => content).join(' ');
      yield { type: 'text', text };
      yield { type: 'end', answer: { content: [{ type: 'text', text }], stopReason: 'end', usage } };
      return;
    }
    const call = {
      type: 'function-call',
      id: 'c1',
      name: 'search_weather',
      arguments: { city: 'Oslo' },
    } as const;
    yield { type: 'end', answer: { content: [call], stopReason: 'function-calls', usage } };
  },
};

const home = await mkdtemp(path.join(tmpdir(), 'lango-example-'));
const settings = { server: { port: 0 }, agent: { multiAgent: false } };
const server = createServer({ home, settings, tools: [weather], model: parrot });
const { origin, token } = await server.start();
try {
  const client = connect({ url: origin, ...(token ? { token } : {}) });
  for await (const event of client.send(
    { parts: [textPart('How is Oslo?')] },
    new AbortController().signal,
  )) {
    if (event.type === 'end') console.log(`${event.author}: ${event.text}`);
  }
} finally {
  await server.stop();
  await rm(home, { recursive: true });
}
