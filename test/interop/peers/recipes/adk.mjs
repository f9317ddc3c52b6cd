// An ADK agent with a scripted model. As a program: asks the agent of the recipe used.mjs.
import { setTimeout as delay } from 'node:timers/promises';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import {
  BaseLlm,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  LongRunningFunctionTool,
  StreamingMode,
} from '@google/adk';

class Scripted extends BaseLlm {
  async *generateContentAsync({ contents, toolsDict }, stream = false) {
    const newest = contents.at(-1).parts;
    const asked = newest.find(({ text }) => text)?.text.split('\n')[0];
    const result = newest.find(({ functionResponse }) => functionResponse)?.functionResponse.response;
    if (asked === 'wait') await delay(600_000);
    if (asked === 'fail') throw new Error('the model is away');
    const call = (name, args) => ({ functionCall: { name, args } });
    if ('transfer_to_agent' in toolsDict) {
      yield this.#answer(call('transfer_to_agent', { agentName: 'operator' }));
    } else if (!result && (asked === 'question' || asked === 'wipe')) {
      yield this.#answer(call(asked, { text: 'which colour?' }));
    } else if (!result && asked === 'file') {
      yield this.#answer({ inlineData: { data: btoa('buy milk'), mimeType: 'text/plain' } });
    } else {
      const heard = contents.slice(0, -1).flatMap(({ role, parts }) => (role === 'user' ? parts : []));
      const files = newest.map(({ text, inlineData }) => (inlineData ? atob(inlineData.data) : text));
      const said = { recall: ['heard', heard], read: ['read', files] }[asked] ?? ['did', asked];
      const [verb, what] = result ? ['got', result] : said;
      const text = `ADK ${verb}: ${typeof what === 'string' ? what : JSON.stringify(what)}`;
      if (stream)
        for (const piece of text.split(/(?<= )/)) yield { ...this.#answer({ text: piece }), partial: true };
      yield this.#answer({ text });
    }
  }

  #answer(part) {
    return { content: { role: 'model', parts: [part] } };
  }
}

export const model = new Scripted({ model: 'scripted' });

const parameters = {
  type: 'OBJECT',
  properties: { text: { type: 'STRING' } },
};
const question = new LongRunningFunctionTool({
  name: 'question',
  description: 'Asks the person.',
  parameters,
  execute: () => undefined,
});
const wipe = new FunctionTool({
  name: 'wipe',
  description: 'Needs a yes.',
  parameters,
  requireConfirmation: true,
  execute: ({ text }) => ({ wiped: text }),
});
export const rootAgent = new LlmAgent({
  name: 'adk_agent',
  description: 'Does what it is told.',
  model,
  tools: [question, wipe],
});

async function main() {
  const { serve } = await import('./lines.mjs');
  const { operator, rootAgent: boss } = await import('./used.mjs');
  const runners = new Map(
    [boss, operator].map((agent) => [agent, new InMemoryRunner({ agent, appName: 'interop' })]),
  );
  const sessions = new Map();

  const ask = async (agent, { text, session = 'direct', file }, streamingMode = StreamingMode.NONE) => {
    const runner = runners.get(agent);
    const place = { appName: 'interop', userId: 'u' };
    if (!sessions.has(session)) sessions.set(session, await runner.sessionService.createSession(place));
    const inlineData = { data: file, mimeType: 'text/plain' };
    const newMessage = { role: 'user', parts: [{ text }, ...(file ? [{ inlineData }] : [])] };
    const sessionId = sessions.get(session).id;
    const run = { userId: 'u', sessionId, newMessage, runConfig: { streamingMode } };
    const pieces = [];
    let answer = [];
    for await (const event of runner.runAsync(run)) {
      if (event.errorMessage) throw new Error(event.errorMessage);
      const parts = event.content?.parts ?? [];
      if (event.partial) pieces.push(...parts);
      else if (parts.length > 0) answer = parts;
    }
    const textOf = (parts) => parts.map((part) => part.text ?? '').join('');
    return {
      answer: textOf(answer),
      streamed: textOf(pieces),
      pieces: pieces.length,
      files: answer.flatMap(({ inlineData: data }) => (data ? [data.data] : [])),
    };
  };
  await serve({
    say: (given) => ask(boss, given),
    tell: (given) => ask(operator, given),
    stream: async (given) => {
      const { streamed, pieces } = await ask(operator, given, StreamingMode.SSE);
      return { answer: streamed, pieces };
    },
  });
}

// The call is not awaited: the module used.mjs needs this one first.
if (import.meta.url === pathToFileURL(process.argv[1]).href) void main();
