// A VoltAgent agent with a scripted model. As a program: asks the agent of the recipe used.mjs.
import { setTimeout as delay } from 'node:timers/promises';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { Agent } from '@voltagent/core';

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

/** The parts of the model's response. */
async function answer({ prompt, tools = [], abortSignal }) {
  const newest = prompt.at(-1).content;
  const asked = newest.find(({ type }) => type === 'text')?.text.split('\n')[0];
  const result = newest.find(({ type }) => type === 'tool-result')?.output.value;
  if (asked === 'wait') await delay(600_000, undefined, { signal: abortSignal });
  if (asked === 'fail') throw new Error('the model is away');
  if (tools.length > 0 && result === undefined) {
    const input = JSON.stringify({ request: asked });
    return [{ type: 'tool-call', toolCallId: 'c1', toolName: tools[0].name, input }];
  }
  const heard = prompt.slice(0, -1).flatMap(({ content }) => (Array.isArray(content) ? content : []));
  const said = { recall: `heard: ${JSON.stringify(heard)}`, read: `read: ${JSON.stringify(newest)}` };
  const texts = result ? [String(result)] : ['Volt ', said[asked] ?? `did: ${asked}`];
  return texts.map((text) => ({ type: 'text', text }));
}

const reasonOf = ([{ type }]) => ({ unified: type === 'text' ? 'stop' : 'tool-calls' });

export const model = {
  specificationVersion: 'v3',
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
        { type: 'text-start', id: '1' },
        ...texts.map(({ text }) => ({ type: 'text-delta', id: '1', delta: text })),
        { type: 'text-end', id: '1' },
        ...content.filter((part) => !texts.includes(part)),
        { type: 'finish', finishReason: reasonOf(content), usage },
      ]),
    };
  },
};

export const agent = new Agent({
  id: 'clerk',
  name: 'clerk',
  purpose: 'Does what it is told.',
  instructions: 'Do it.',
  model,
});

async function main() {
  const { serve } = await import('./lines.mjs');
  const { boss } = await import('./used.mjs');
  await serve({
    async say({ text }) {
      return { answer: (await boss.generateText(text)).text };
    },
  });
}

// The call is not awaited: the module used.mjs needs this one first.
if (import.meta.url === pathToFileURL(process.argv[1]).href) void main();
