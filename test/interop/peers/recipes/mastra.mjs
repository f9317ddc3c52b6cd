// A Mastra agent with a scripted model. As a program: asks the agent of the recipe used.mjs.
import { setTimeout as delay } from 'node:timers/promises';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { Memory } from '@mastra/memory';
import { z } from 'zod';

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

/** The parts of the model's response. */
async function answer({ prompt, tools = [], abortSignal }) {
  const newest = prompt.at(-1).content;
  const asked = newest.find(({ type }) => type === 'text')?.text;
  const result = newest.find(({ type }) => type === 'tool-result')?.output.value;
  if (asked === 'wait') await delay(600_000, undefined, { signal: abortSignal });
  if (asked === 'fail') throw new Error('the model is away');
  const names = tools.map(({ name }) => name);
  const tool = names.includes(asked) ? asked : names.find((name) => name.startsWith('agent-'));
  if (tool && result === undefined) {
    const input = JSON.stringify(tool === asked ? { text: 'which colour?' } : { prompt: asked });
    return [{ type: 'tool-call', toolCallId: 'c1', toolName: tool, input }];
  }
  const heard = prompt.slice(0, -1).map(({ content }) => content);
  const said = { recall: `heard: ${JSON.stringify(heard)}`, read: `read: ${JSON.stringify(newest)}` };
  const text = result === undefined ? (said[asked] ?? `did: ${asked}`) : resultText(result);
  return ['Mastra ', text].map((piece) => ({ type: 'text', text: piece }));
}

/** The text of a tool's or an agent's result. */
function resultText(result) {
  return typeof result === 'string' ? result : (result.text ?? JSON.stringify(result));
}

const reasonOf = ([{ type }]) => (type === 'text' ? 'stop' : 'tool-calls');

export const model = {
  specificationVersion: 'v2',
  provider: 'scripted',
  modelId: 'scripted',
  supportedUrls: {},
  async doGenerate(request) {
    const content = await answer(request);
    return { content, finishReason: reasonOf(content), usage, warnings: [] };
  },
  async doStream(request) {
    const content = await answer(request);
    const texts = content.filter(({ type }) => type === 'text');
    return {
      stream: ReadableStream.from([
        { type: 'stream-start', warnings: [] },
        { type: 'response-metadata', id: 'r', modelId: 'scripted', timestamp: new Date(0) },
        { type: 'text-start', id: '1' },
        ...texts.map(({ text }) => ({ type: 'text-delta', id: '1', delta: text })),
        { type: 'text-end', id: '1' },
        ...content.filter((part) => !texts.includes(part)),
        { type: 'finish', finishReason: reasonOf(content), usage },
      ]),
    };
  },
};

const inputSchema = z.object({ text: z.string() });
const question = createTool({
  id: 'question',
  description: 'Asks the person.',
  inputSchema,
  suspendSchema: z.object({ message: z.string() }),
  resumeSchema: z.string(),
  execute: async ({ text }, { agent: { resumeData, suspend } }) =>
    resumeData === undefined ? suspend({ message: text }) : `got: ${resumeData}`,
});
const wipe = createTool({
  id: 'wipe',
  description: 'Needs a yes.',
  inputSchema,
  requireApproval: true,
  execute: async ({ text }) => ({ wiped: text }),
});

export const agent = new Agent({
  id: 'clerk',
  name: 'clerk',
  description: 'Does what it is told.',
  instructions: 'Do it.',
  model,
  tools: { question, wipe },
  memory: new Memory(),
});

async function main() {
  const { serve } = await import('./lines.mjs');
  const { boss, operator } = await import('./used.mjs');
  const waiting = new Map();

  await serve({
    async say({ text }) {
      const given = await boss.generate(text);
      return { answer: given.text + JSON.stringify(given.suspendPayload ?? '') };
    },
    async tell({ text, session }) {
      const runId = waiting.get(session);
      const given = await (runId ? operator.resumeGenerate(text, { runId }) : operator.generate(text));
      if (given.resumePayload) waiting.set(session, given.runId);
      return { answer: given.text };
    },
    async stream({ text }) {
      const pieces = [];
      const { fullStream } = await operator.stream(text);
      for await (const { type, payload } of fullStream) if (type === 'text-delta') pieces.push(payload.text);
      return { answer: pieces.join(''), pieces: pieces.length };
    },
    async card() {
      return { name: (await operator.getAgentCard()).name };
    },
  });
}

// The call is not awaited: the module used.mjs needs this one first.
if (import.meta.url === pathToFileURL(process.argv[1]).href) void main();
