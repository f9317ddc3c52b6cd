// A Strands agent with a scripted model. As a program: asks the agent of the recipe used.mjs.
import { setTimeout as delay } from 'node:timers/promises';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { Agent, Model, tool } from '@strands-agents/sdk';
import { z } from 'zod';

class Scripted extends Model {
  getConfig() {
    return { modelId: 'scripted' };
  }

  updateConfig() {}

  async *stream(messages, { toolSpecs = [] } = {}) {
    const newest = messages.at(-1).content;
    const asked = newest.find(({ text }) => text)?.text;
    const result = newest.find(({ type }) => type === 'toolResultBlock');
    if (asked === 'wait') await delay(600_000);
    if (asked === 'fail') throw new Error('the model is away');
    const name = toolSpecs[0]?.name;
    const calls = name && !result && (name !== 'question' || asked === 'question');
    const heard = messages.slice(0, -1).flatMap(({ content }) => content.map(({ text }) => text));
    const said =
      { recall: `heard: ${heard}`, read: `read: ${JSON.stringify(newest)}` }[asked] ?? `did: ${asked}`;
    const given = name === 'question' ? { text: 'which colour?' } : { request: asked };
    yield { type: 'modelMessageStartEvent', role: 'assistant' };
    yield {
      type: 'modelContentBlockStartEvent',
      ...(calls && { start: { type: 'toolUseStart', name, toolUseId: 't1' } }),
    };
    const deltas = calls
      ? [{ type: 'toolUseInputDelta', input: JSON.stringify(given) }]
      : (result ? [result.content[0].text] : ['Strands ', said]).map((text) => ({ type: 'textDelta', text }));
    for (const delta of deltas) yield { type: 'modelContentBlockDeltaEvent', delta };
    yield { type: 'modelContentBlockStopEvent' };
    yield { type: 'modelMessageStopEvent', stopReason: calls ? 'toolUse' : 'endTurn' };
  }
}

export const model = new Scripted();

const question = tool({
  name: 'question',
  description: 'Asks the person.',
  inputSchema: z.object({ text: z.string() }),
  callback: ({ text }, context) => `Strands got: ${context.interrupt({ name: 'question', reason: text })}`,
});

export const myAgent = () => new Agent({ model, tools: [question], printer: false });

async function main() {
  const { serve } = await import('./lines.mjs');
  const { boss, remote } = await import('./used.mjs');
  const tell = async ({ text }) => ({ answer: (await remote.invoke(text)).toString() });
  await serve({
    say: async ({ text }) => ({ answer: (await boss.invoke(text)).toString() }),
    tell,
    async stream({ text }) {
      const pieces = [];
      for await (const { event } of remote.stream(text))
        if (event?.kind === 'artifact-update') pieces.push(event.artifact.parts[0].text);
      return { answer: pieces.join(''), pieces: pieces.length };
    },
    async card() {
      await tell({ text: 'say hello' });
      return { name: remote.name };
    },
  });
}

// The call is not awaited: the module used.mjs needs this one first.
if (import.meta.url === pathToFileURL(process.argv[1]).href) void main();
