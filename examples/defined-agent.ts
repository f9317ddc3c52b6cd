/**
 * An agent of your own in a few lines: a model follows its instruction and calls its tools. A scripted model stands in for
 * a vendor, so the program needs no key, as in a test. Run it: `npx node dist/examples/defined-agent.js`
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, createServer, defineAgent, defineTool, scriptedModel, textPart } from 'lango';
import { z } from 'zod';

const forecast = defineTool({
  name: 'forecast',
  description: 'Tells the weather of a city.',
  schema: z.object({ city: z.string() }),
  effect: 'pure',
  execute: async ({ city }) => ({ content: `In ${city} the sun shines, 21 degrees.` }),
});

const weather = defineAgent({
  name: 'weather',
  description: 'Knows the weather of every city.',
  instruction: 'You are the weather agent. Answer in one sentence, with the temperature.',
  tools: [forecast],
  // Leave it out, and the agent uses the model of the server.
  model: scriptedModel([
    { calls: [{ name: 'forecast', arguments: { city: 'Oslo' } }] },
    'Oslo is sunny, at 21 degrees.',
  ]),
});

// What the orchestrator's model answers: it asks the agent, and gives its answer to the user.
const request = { agent_name: 'weather', request: 'How is Oslo?', final: true };
const model = scriptedModel([{ calls: [{ name: 'transfer_to_agent', arguments: request }] }]);

const home = await mkdtemp(path.join(tmpdir(), 'lango-example-'));
const server = createServer({ home, settings: { server: { port: 0 } }, agents: [weather], model });
const { origin, token } = await server.start();
try {
  const client = connect({ url: origin, ...(token ? { token } : {}) });
  const { signal } = new AbortController();
  for await (const event of client.send({ parts: [textPart('How is Oslo?')] }, signal)) {
    if (event.type === 'activity') console.log(`${event.author}: ${event.activity.type}`);
    if (event.type === 'end') console.log(`${event.author}: ${event.text}`);
  }
} finally {
  await server.stop();
  await rm(home, { recursive: true });
}
