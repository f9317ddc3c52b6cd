/**
 * An AgentExecutor written for the stock A2A SDK, published through Lango: its events are journaled, a stream can
 * be replayed from any point, and a task outlives the process. Run it: `npx node dist/examples/stock-executor.js`
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TaskState } from '@a2a-js/sdk';
import type { AgentExecutor } from '@a2a-js/sdk/server';
import { AgentEvent } from '@a2a-js/sdk/server';
import { connect, createServer, fromAgentExecutor, textPart } from 'lango';

const shouting: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const status = (state: TaskState) => ({ state, message: undefined, timestamp: new Date().toISOString() });
    const task = { id: taskId, contextId, artifacts: [], history: [], metadata: undefined };
    bus.publish(AgentEvent.task({ ...task, status: status(TaskState.TASK_STATE_WORKING) }));
    const [part] = userMessage.parts;
    const said = part?.content?.$case === 'text' ? part.content.value : '';
    const answer = {
      artifactId: 'answer',
      name: 'answer',
      description: '',
      parts: [
        {
          content: { $case: 'text' as const, value: said.toUpperCase() },
          metadata: undefined,
          filename: '',
          mediaType: '',
        },
      ],
      metadata: undefined,
      extensions: [],
    };
    const place = { taskId, contextId, metadata: undefined };
    bus.publish(AgentEvent.artifactUpdate({ ...place, artifact: answer, append: false, lastChunk: true }));
    bus.publish(AgentEvent.statusUpdate({ ...place, status: status(TaskState.TASK_STATE_COMPLETED) }));
    bus.finished();
  },
  async cancelTask() {},
};

const agent = fromAgentExecutor({
  executor: shouting,
  profile: {
    name: 'shouting',
    description: 'Says things loudly.',
    skills: [
      { id: 'shout', name: 'shout', description: 'Says it loudly.', tags: [], examples: ['shout {text}'] },
    ],
  },
});

const home = await mkdtemp(path.join(tmpdir(), 'lango-example-'));
const server = createServer({ home, settings: { server: { port: 0 } }, agents: [agent] });
const { origin, token } = await server.start();
try {
  const client = connect({ url: origin, ...(token ? { token } : {}) });
  const request = { agent: 'shouting', parts: [textPart('hello there')] };
  let taskId = '';
  for await (const event of client.send(request, new AbortController().signal)) {
    if (event.type === 'task') taskId = event.taskId;
    if (event.type === 'end') console.log(event.text);
  }
  // The finished task can be watched again, from its first event.
  const again = client.subscribe({ agent: 'shouting', taskId, after: 0 }, new AbortController().signal);
  let replayed = 0;
  for await (const _event of again) replayed += 1;
  console.log(`replayed ${replayed} events`);
} finally {
  await server.stop();
  await rm(home, { recursive: true });
}
