import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { AgentCard, Part, TaskState } from 'a2a-sdk-v03';
import type { AgentExecutor, ExecutionEventBus, RequestContext } from 'a2a-sdk-v03/server';
import { DefaultRequestHandler, InMemoryTaskStore } from 'a2a-sdk-v03/server';
import { UserBuilder, jsonRpcHandler, restHandler } from 'a2a-sdk-v03/server/express';
import { A2AService, UserBuilder as GrpcUserBuilder, grpcService } from 'a2a-sdk-v03/server/grpc';
import express from 'express';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type OldTransport = 'JSONRPC' | 'HTTP+JSON' | 'GRPC';

export interface OldServer {
  readonly origin: string;
  readonly canceled: readonly string[];
  /** The ids of the tasks that were read, one for each request. */
  readonly reads: readonly string[];
  close(): Promise<void>;
}

/** An ordinary agent on the SDK's 0.3 line: it streams, asks, and waits to be canceled. */
export async function startOldServer(transport: OldTransport): Promise<OldServer> {
  const app = express();
  const http = createServer(app).listen(0, '127.0.0.1');
  await once(http, 'listening');
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const grpc = new Server();
  const executor = new OldExecutor();
  const card: AgentCard = {
    name: 'old-timer',
    description: 'Does as it always did.',
    version: '0.9.0',
    protocolVersion: '0.3.0',
    url: '',
    preferredTransport: transport,
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'talk', name: 'Talk', description: 'Talks.', tags: [] }],
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  const reads: string[] = [];
  const getTask = requestHandler.getTask.bind(requestHandler);
  requestHandler.getTask = (...given) => {
    reads.push(given[0].id);
    return getTask(...given);
  };
  grpc.addService(A2AService, grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication }));
  const port = await new Promise<number>((resolve, reject) => {
    grpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, taken) =>
      error ? reject(error) : resolve(taken),
    );
  });
  const places = { JSONRPC: `${origin}/rpc`, 'HTTP+JSON': `${origin}/rest`, GRPC: `127.0.0.1:${port}` };
  card.url = places[transport];
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
  app.get('/.well-known/agent-card.json', (_request, response) => void response.json(card));
  app.use('/rpc', jsonRpcHandler(options));
  app.use('/rest', restHandler(options));
  return {
    origin,
    canceled: executor.canceled,
    reads,
    async close() {
      grpc.forceShutdown();
      http.close();
      http.closeAllConnections();
      await once(http, 'close');
    },
  };
}

class OldExecutor implements AgentExecutor {
  readonly canceled: string[] = [];
  #stop: () => void = () => {};

  execute = async (context: RequestContext, bus: ExecutionEventBus): Promise<void> => {
    const { taskId, contextId, userMessage, task } = context;
    const text = userMessage.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
    if (!task)
      bus.publish({
        kind: 'task',
        id: taskId,
        contextId,
        status: { state: 'submitted' },
        history: [userMessage],
      });
    const decisions = userMessage.parts.flatMap((part) => (part.kind === 'data' ? [part.data] : []));
    const say = (what: string, append: boolean): void =>
      bus.publish({
        kind: 'artifact-update',
        taskId,
        contextId,
        append,
        artifact: { artifactId: 'answer', parts: [{ kind: 'text', text: what }] },
      });
    const end = (state: TaskState, words?: string): void => {
      const parts: Part[] = [{ kind: 'text', text: words ?? '' }];
      const message = {
        kind: 'message' as const,
        role: 'agent' as const,
        messageId: `${taskId}-${state}`,
        parts,
      };
      const status = { state, ...(words === undefined ? {} : { message }) };
      bus.publish({ kind: 'status-update', taskId, contextId, status, final: true });
      bus.finished();
    };
    switch (text) {
      case 'stream':
        say('one', false);
        say(' two', true);
        return end('completed');
      case 'ask':
        return end('input-required', 'which one?');
      case 'throw':
        throw new Error('the disk is full');
      case 'late':
        bus.publish({
          kind: 'status-update',
          taskId,
          contextId,
          status: { state: 'completed' },
          final: false,
        });
        say('better late', false);
        return bus.finished();
      // The events of one turn of Gemini CLI's server: everything in messages of a working task, then input-required.
      case 'gemini':
      case 'gemini twice': {
        const tell = (parts: Part[], kind: string): void => {
          const message = {
            kind: 'message' as const,
            role: 'agent' as const,
            messageId: randomUUID(),
            parts,
          };
          const metadata = { coderAgent: { kind } };
          const status = { state: 'working' as const, message };
          bus.publish({ kind: 'status-update', taskId, contextId, status, metadata, final: false });
        };
        for (const word of ['I have to ', 'run a com', 'mand.'])
          tell([{ kind: 'text', text: word }], 'text-content');
        const commands = ['rm -rf build', 'rm -rf dist'].slice(0, text === 'gemini' ? 1 : 2);
        for (const [at, command] of commands.entries()) {
          const request = { callId: `shell-${at + 1}`, name: 'run_shell_command', args: { command } };
          const confirmationDetails = { type: 'exec', command };
          const call = { request, tool: { name: request.name } };
          tell([{ kind: 'data', data: { ...call, status: 'validating' } }], 'tool-call-update');
          const data = { ...call, status: 'awaiting_approval', confirmationDetails };
          tell([{ kind: 'data', data }], 'tool-call-confirmation');
        }
        return end('input-required');
      }
      case 'wait':
        await new Promise<void>((resolve) => (this.#stop = resolve));
        return end('canceled');
      default:
        say(`you said ${decisions.length > 0 ? JSON.stringify(decisions) : text}`, false);
        return end('completed');
    }
  };

  cancelTask = (taskId: string): Promise<void> => {
    this.canceled.push(taskId);
    this.#stop();
    return Promise.resolve();
  };
}
