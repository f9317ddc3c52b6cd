/**
 * A model of a provider package of the AI SDK, here of Mistral. Install the package with `npm install @ai-sdk/mistral`, and
 * run the example: `MISTRAL_API_KEY=… npx node dist/examples/ai-sdk-model.js`
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createMistral } from '@ai-sdk/mistral';
import { connect, createServer, fromAiSdk, textPart } from 'lango';

const { MISTRAL_API_KEY: apiKey, MISTRAL_BASE_URL: baseURL } = process.env;
const mistral = createMistral({ ...(apiKey && { apiKey }), ...(baseURL && { baseURL }) });

const home = await mkdtemp(path.join(tmpdir(), 'lango-example-'));
const settings = { server: { port: 0 }, agent: { multiAgent: false } };
const server = createServer({ home, settings, model: fromAiSdk(mistral('mistral-large-latest')) });
const { origin, token } = await server.start();
try {
  const client = connect({ url: origin, ...(token ? { token } : {}) });
  const message = { parts: [textPart('Which folders do you see?')] };
  for await (const event of client.send(message, new AbortController().signal)) {
    if (event.type === 'end') console.log(`${event.author}: ${event.text}`);
  }
} finally {
  await server.stop();
  await rm(home, { recursive: true });
}
