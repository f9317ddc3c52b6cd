// A Mastra agent with a tool that a person must approve, behind Mastra's own Hono server. Prints the agent's address.
import { serve } from '@hono/node-server';
import { Mastra } from '@mastra/core';
import { Agent } from '@mastra/core/agent';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { MastraServer } from '@mastra/hono';
import { InMemoryTaskStore } from '@mastra/server/a2a/store';
import { Hono } from 'hono';
import { z } from 'zod';

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const callOfTool = {
  type: 'tool-call',
  toolCallId: 'c1',
  toolName: 'delete_files',
  input: '{"folder":"/srv/data"}',
};
const stream = (parts, finishReason) => ({
  stream: ReadableStream.from([
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', id: 'r', modelId: 'scripted', timestamp: new Date(0) },
    ...parts,
    { type: 'finish', finishReason, usage },
  ]),
});
const model = {
  specificationVersion: 'v2',
  provider: 'scripted',
  modelId: 'scripted',
  supportedUrls: {},
  doGenerate: async () => {
    throw new Error('not scripted');
  },
  doStream: async ({ prompt }) => {
    const last = prompt.at(-1);
    if (last.role !== 'tool') return stream([callOfTool], 'tool-calls');
    const text = `Mastra says ${JSON.stringify(last.content[0].output.value)}`;
    return stream(
      [
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: text },
        { type: 'text-end', id: '1' },
      ],
      'stop',
    );
  },
};
const tool = createTool({
  id: 'delete_files',
  description: 'Deletes a folder.',
  inputSchema: z.object({ folder: z.string() }),
  outputSchema: z.object({ deleted: z.string() }),
  requireApproval: true,
  execute: async ({ folder }) => ({ deleted: folder }),
});
const agent = new Agent({
  id: 'cleaner',
  name: 'cleaner',
  instructions: 'Clean up.',
  model,
  tools: { delete_files: tool },
});
const mastra = new Mastra({ agents: { cleaner: agent }, storage: new InMemoryStore(), logger: false });
const app = new Hono();
await new MastraServer({ app, mastra, taskStore: new InMemoryTaskStore() }).init();
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}/api/a2a/cleaner` })),
);
