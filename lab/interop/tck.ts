import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutor } from '@a2a-js/sdk/server';
import { createServer, fromAgentExecutor } from '../../src/index.js';

/**
 * A server for the A2A TCK (see docs/internals/tck.md): the agent `tck` follows the scenarios of the suite, by the beginning
 * of a message's id. Prints the address for `--sut-host`, and serves until it is interrupted.
 */

const RESUBSCRIBE_MS = 4_000;
const FILE = { filename: 'output.txt', mediaType: 'text/plain' };
const PLENTY = 1_000_000;

interface Scene {
  readonly parts?: readonly object[];
  readonly state?: string;
  readonly says?: string;
}

const WORKED = 'COMPLETED';
/** The first scenario whose prefix fits counts. */
const SCENES: Readonly<Record<string, Scene>> = {
  'tck-complete-task': { says: 'Hello from TCK' },
  'tck-artifact-text': { parts: [{ text: 'Generated text content' }] },
  'tck-artifact-file-url': { parts: [{ url: 'https://example.com/output.txt', ...FILE }] },
  'tck-artifact-file': { parts: [{ raw: btoa('output'), ...FILE }] },
  'tck-artifact-data': { parts: [{ data: { key: 'value', count: 42 } }] },
  'tck-input-required': { state: 'INPUT_REQUIRED', says: 'What else?' },
  'tck-reject-task': { state: 'REJECTED', says: 'rejected' },
  'tck-stream-002': {},
  'tck-stream-artifact-file': { parts: [{ raw: btoa('output'), ...FILE }] },
  'tck-stream-artifact-chunked': { parts: [{ text: 'chunk-1 ' }, { text: 'chunk-2' }] },
  'tck-stream': { parts: [{ text: 'Stream hello from TCK' }] },
};

const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const place = { taskId, contextId };
    const said = (text: string) => ({
      ...{ messageId: `${userMessage.messageId}-reply`, role: 'ROLE_AGENT', parts: [{ text }] },
      ...place,
    });
    const { messageId: id } = userMessage;
    if (id.startsWith('tck-message-response')) {
      bus.publish(AgentEvent.message(Message.fromJSON(said('Direct message response'))));
      return bus.finished();
    }
    const tell = (state: string, text?: string): void => {
      const message = text === undefined ? undefined : said(text);
      const status = { state: `TASK_STATE_${state}`, message, timestamp: new Date().toISOString() };
      bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ ...place, status })));
    };
    const [, scene = {}] = Object.entries(SCENES).find(([prefix]) => id.startsWith(prefix)) ?? [];
    const begun = { id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' } };
    bus.publish(AgentEvent.task(task ?? Task.fromJSON(begun)));
    tell('WORKING');
    if (id.startsWith('test-resubscribe-message-id')) await delay(RESUBSCRIBE_MS);
    for (const [index, part] of (scene.parts ?? []).entries()) {
      const artifact = { artifactId: 'output', parts: [part] };
      const lastChunk = index === scene.parts!.length - 1;
      const update = TaskArtifactUpdateEvent.fromJSON({ ...place, artifact, append: index > 0, lastChunk });
      bus.publish(AgentEvent.artifactUpdate(update));
    }
    tell(scene.state ?? WORKED, scene.says);
    bus.finished();
  },
  async cancelTask() {},
};

const skills = [{ id: 'tck', name: 'TCK', description: 'Follows the TCK.', tags: ['tck'], examples: [] }];
const home = await mkdtemp(path.join(tmpdir(), 'lango-tck-'));
const server = createServer({
  home,
  agents: [
    fromAgentExecutor({ executor, profile: { name: 'tck', description: 'Follows the TCK.', skills } }),
  ],
  settings: {
    server: {
      ...{ port: 0, grpc: { enabled: true, port: 0 } },
      limits: { requestsPerSecond: PLENTY, requestBurst: PLENTY },
    },
    auth: { mode: 'none' },
    // The suite's calls over gRPC name no agent, and so reach the root agent.
    a2a: { publish: ['tck'] },
    egress: { allowPrivate: ['127.0.0.1', 'localhost'] },
    model: { provider: 'offline' },
  },
});
const { origin } = await server.start();
process.stdout.write(`${origin}\n`);
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
await server.stop();
await rm(home, { recursive: true });
