import type { AddressInfo } from 'node:net';
import { TaskState } from '@a2a-js/sdk';
import type { AgentCard, Artifact, TaskStatus } from '@a2a-js/sdk';
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { UserBuilder, agentCardHandler, jsonRpcHandler } from '@a2a-js/sdk/server/express';
import express from 'express';
import { attend } from './child.js';
import { ANSWER, eachChunk, parseWork } from './work.js';

/**
 * The same work as our agent's, with the events that a client of ours sees too: the submitted task, working, the text,
 * completed.
 */
const executor: AgentExecutor = {
  async execute(context, bus) {
    const { taskId, contextId, userMessage } = context;
    const task = { id: taskId, contextId, artifacts: [], history: [userMessage], metadata: undefined };
    const place = { taskId, contextId, metadata: undefined };
    bus.publish(AgentEvent.task({ ...task, status: status(TaskState.TASK_STATE_SUBMITTED) }));
    bus.publish(AgentEvent.statusUpdate({ ...place, status: status(TaskState.TASK_STATE_WORKING) }));
    const content = userMessage.parts[0]?.content;
    const work = parseWork(content?.$case === 'text' ? content.value : '');
    if (work.kind === 'echo') say(context, bus, { text: ANSWER, append: false });
    await eachChunk(work, (text, index) => say(context, bus, { text, append: index > 0 }));
    bus.publish(AgentEvent.statusUpdate({ ...place, status: status(TaskState.TASK_STATE_COMPLETED) }));
    bus.finished();
  },
  async cancelTask() {},
};

function say(
  { taskId, contextId }: RequestContext,
  bus: ExecutionEventBus,
  { text, append }: { readonly text: string; readonly append: boolean },
): void {
  const event = {
    taskId,
    contextId,
    artifact: artifact(text),
    append,
    lastChunk: false,
    metadata: undefined,
  };
  bus.publish(AgentEvent.artifactUpdate(event));
}

function artifact(text: string): Artifact {
  const part = { content: { $case: 'text' as const, value: text }, metadata: undefined };
  return {
    artifactId: 'answer',
    name: 'answer',
    description: '',
    parts: [{ ...part, filename: '', mediaType: '' }],
    metadata: undefined,
    extensions: [],
  };
}

function status(state: TaskState): TaskStatus {
  return { state, message: undefined, timestamp: new Date().toISOString() };
}

function card(port: number): AgentCard {
  const url = `http://127.0.0.1:${port}/`;
  return {
    name: 'stock',
    description: 'Does what the bench asks.',
    version: '1.0.0',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: false, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    signatures: [],
  };
}

/** A server as the SDK's documentation builds one: express, the default handler, tasks in memory. */
export async function serve(): Promise<void> {
  const app = express();
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const requestHandler = new DefaultRequestHandler(card(port), new InMemoryTaskStore(), executor);
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use(jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  attend(port, async () => {
    server.closeAllConnections();
    server.close();
  });
}
