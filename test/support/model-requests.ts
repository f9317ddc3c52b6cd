import { textPart } from '../../src/core/message.js';
import type {
  FunctionSpec,
  ModelEvent,
  ModelMessage,
  ModelProvider,
  ModelRequest,
} from '../../src/core/model.js';
import { shortHash } from '../../src/models/call-ids.js';

export function userMessage(text: string): ModelMessage {
  return { role: 'user', parts: [textPart(text)] };
}

/** The id under which vendors are sent the first call of this id. */
export const sentId = shortHash;

/** A request with the given members only. */
export function modelRequest(given: Partial<ModelRequest> = {}): ModelRequest {
  return {
    system: [],
    messages: [userMessage('hello')],
    functions: [],
    maxTokens: 1_000,
    signal: new AbortController().signal,
    ...given,
  };
}

export const READ_FILE: FunctionSpec = {
  name: 'fs_read',
  description: 'Reads a file.',
  parameters: {
    type: 'object',
    properties: { path: { type: 'string' } },
    required: ['path'],
    additionalProperties: false,
  },
};

export async function collect(
  provider: ModelProvider,
  request: ModelRequest,
): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of provider.stream(request)) events.push(event);
  return events;
}

/** The response of a stream that must end well. */
export async function answerOf(
  provider: ModelProvider,
  request: ModelRequest,
): Promise<(ModelEvent & { type: 'end' })['answer']> {
  const last = (await collect(provider, request)).at(-1);
  if (last?.type !== 'end') throw new Error(`The stream ended with ${JSON.stringify(last)}`);
  return last.answer;
}

/** The error of a stream that must fail. */
export async function errorOf(
  provider: ModelProvider,
  request: ModelRequest,
): Promise<ModelEvent & { type: 'error' }> {
  const last = (await collect(provider, request)).at(-1);
  if (last?.type !== 'error') throw new Error(`The stream ended with ${JSON.stringify(last)}`);
  return last;
}
