import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A slow model of an orchestrator, in a pod of the cluster, by the Chat Completions API: it thinks for ten seconds, lets the
 * operator run the command of the newest message, thinks for ten seconds more, and says that it is done. It imports nothing
 * else, because the pod has just this file.
 */
const THINKING_MS = 10_000;
const HEAD = { id: 'slow-1', object: 'chat.completion.chunk', created: 1, model: 'slow' };

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

function answer({ messages }: Asked) {
  const command = /run sleep 1; echo \d+ >> [\w-]+/.exec(
    JSON.stringify(messages.findLast(({ role }) => role === 'user')?.content ?? ''),
  );
  if (!command || messages.at(-1)?.role === 'tool') return { delta: { content: 'Done.' }, ends: 'stop' };
  const given = JSON.stringify({ agent_name: 'operator', request: command[0] });
  const call = { index: 0, id: 'call_1', type: 'function' };
  return {
    delta: { tool_calls: [{ ...call, function: { name: 'transfer_to_agent', arguments: given } }] },
    ends: 'tool_calls',
  };
}

createServer((request, response) => {
  void (async () => {
    const asked = JSON.parse(await text(request)) as Asked;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await sleep(THINKING_MS);
    const { delta, ends } = answer(asked);
    const choices = [
      { index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null },
      { index: 0, delta: {}, finish_reason: ends },
    ];
    for (const choice of choices)
      response.write(`data: ${JSON.stringify({ ...HEAD, choices: [choice] })}\n\n`);
    response.end('data: [DONE]\n\n');
  })();
}).listen(4300);
