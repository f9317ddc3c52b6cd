import { createOfflineProvider } from '../../src/models/offline/provider.js';
import type { JsonObject } from '../../src/core/json.js';
import {
  answerText,
  functionCalls,
  type Example,
  type FunctionCall,
  type FunctionResult,
  type FunctionSpec,
  type ModelAnswer,
  type ModelMessage,
  type ModelRequest,
} from '../../src/core/model.js';
import { textPart } from '../../src/core/message.js';

/** A request of the offline model with what a test says of it. */
export function modelRequest(parts: Partial<ModelRequest>): ModelRequest {
  return {
    system: [{ text: 'You are an agent.', stable: true }],
    messages: [],
    functions: [],
    maxTokens: 8_192,
    signal: new AbortController().signal,
    ...parts,
  };
}

export function userSays(text: string): ModelMessage {
  return { role: 'user', parts: [textPart(text)] };
}

export async function answerTo(request: ModelRequest): Promise<ModelAnswer> {
  for await (const event of createOfflineProvider().stream(request)) {
    if (event.type === 'end') return event.answer;
    if (event.type === 'error') throw new Error(event.message);
  }
  throw new Error('The stream ended without an end.');
}

export interface Conversation {
  /** What was called, one list for each answer. */
  readonly rounds: readonly (readonly FunctionCall[])[];
  readonly text: string;
  readonly messages: readonly ModelMessage[];
}

export type Respond = (call: FunctionCall) => string | { readonly error: string };

/** Lets the model talk to `respond` until it answers in words or calls a control function of the loop. */
export async function converse(request: ModelRequest, respond: Respond): Promise<Conversation> {
  const messages = [...request.messages];
  const rounds: (readonly FunctionCall[])[] = [];
  for (let turn = 0; turn < 20; turn += 1) {
    const answer = await answerTo({ ...request, messages });
    const calls = functionCalls(answer.content);
    messages.push({ role: 'assistant', author: 'tester', content: answer.content });
    if (calls.length === 0) return { rounds, text: answerText(answer.content), messages };
    rounds.push(calls);
    if (calls.some((call) => call.name === 'ask_user' || call.name === 'decline_request')) {
      return { rounds, text: '', messages };
    }
    messages.push({ role: 'results', results: calls.map((call) => toResult(call, respond(call))) });
  }
  throw new Error('The conversation did not end.');
}

function toResult({ id, name }: FunctionCall, said: ReturnType<Respond>): FunctionResult {
  return typeof said === 'string'
    ? { id, name, content: said, isError: false }
    : { id, name, content: said.error, isError: true };
}

/** Files in memory behind functions with the shape of the fs and exec families. */
export function createFiles(files: Map<string, string> = new Map()): {
  files: Map<string, string>;
  respond: Respond;
} {
  const respond: Respond = ({ name, arguments: args }) => {
    const path = argument(args, 'path');
    if (name === 'fs_write') {
      files.set(path, argument(args, 'content'));
      return `Wrote ${argument(args, 'content').length} characters to ${path}.`;
    }
    if (name === 'fs_read') return files.get(path) ?? { error: `There is no file ${path}.` };
    if (name === 'fs_list') return [...files.keys()].join('\n');
    if (name === 'exec') {
      return JSON.stringify({ exitCode: 0, stdout: `ran ${argument(args, 'command')}\n`, stderr: '' });
    }
    return `${name} ${JSON.stringify(args)}`;
  };
  return { files, respond };
}

/** A text argument; empty when there is none. */
export function argument(args: JsonObject | undefined, name: string): string {
  const value = args?.[name];
  return typeof value === 'string' ? value : '';
}

export function functionSpec(
  name: string,
  properties: Record<string, JsonObject>,
  examples: readonly (string | Example)[],
): FunctionSpec {
  const required = Object.entries(properties).flatMap(([key, schema]) => (schema.optional ? [] : [key]));
  const clean = Object.entries(properties).map(([key, { optional: _, ...schema }]) => [key, schema] as const);
  return {
    name,
    description: `The function ${name}.`,
    parameters: {
      type: 'object',
      properties: Object.fromEntries(clean),
      required,
      additionalProperties: false,
    },
    examples: examples.map((example) => (typeof example === 'string' ? { text: example } : example)),
  };
}

const TEXT = { type: 'string' };
const OPTIONAL_TEXT = { type: 'string', optional: true };

export const CONTROL: readonly FunctionSpec[] = [
  functionSpec('decline_request', { reason: TEXT }, []),
  functionSpec('ask_user', { question: TEXT }, []),
];

export const TOOLS: readonly FunctionSpec[] = [
  functionSpec('fs_read', { path: TEXT, offset: { type: 'integer', optional: true } }, [
    'read {path}',
    'show {path}',
    'read {path} from line {offset}',
  ]),
  functionSpec('fs_write', { path: { ...TEXT, description: 'where to write' }, content: TEXT }, [
    'write {content} to {path}',
    'create {path} with {content}',
    'save {content} to {path}',
    { text: 'create an empty file {path}', arguments: { content: '' } },
  ]),
  functionSpec('fs_list', { path: OPTIONAL_TEXT }, [
    'list the files',
    'list the files in {path}',
    'list {path}',
  ]),
  functionSpec('fs_search', { text: TEXT, path: OPTIONAL_TEXT }, [
    'search for {text}',
    'search for {text} in {path}',
  ]),
  functionSpec('fs_move', { from: TEXT, to: TEXT }, ['move {from} to {to}', 'rename {from} to {to}']),
  functionSpec('exec', { command: TEXT }, [
    'run {command}',
    'execute {command}',
    'run the command {command}',
  ]),
];

export const OPERATOR: readonly FunctionSpec[] = [...TOOLS, ...CONTROL];

/** The delegation function for agents with these examples on their cards. */
export function transferSpec(cards: Readonly<Record<string, readonly string[]>>): FunctionSpec {
  return {
    name: 'transfer_to_agent',
    description: 'Asks another agent.',
    parameters: {
      type: 'object',
      properties: {
        agent_name: { type: 'string', enum: Object.keys(cards) },
        request: { type: 'string' },
        final: { type: 'boolean' },
      },
      required: ['agent_name', 'request', 'final'],
    },
    examples: Object.entries(cards).flatMap(([agent_name, texts]) =>
      texts.map((text) => ({ text, arguments: { agent_name, request: '{request}' } })),
    ),
  };
}

export const CARDS: Readonly<Record<string, readonly string[]>> = {
  operator: TOOLS.flatMap((tool) => tool.examples.map((example) => example.text)),
  navigator: ['open {url}', 'read the page {url}', 'search the web for {query}'],
  librarian: [
    'save knowledge {key}: {content}',
    'remember {content}',
    'what do you know about {query}',
    'search knowledge for {query}',
  ],
  planner: ['plan {goal}', 'make a plan for {goal}', 'make a plan to {goal}'],
  weather: ["What's the weather in Paris?", 'Forecast for tomorrow in Berlin'],
};

export const ORCHESTRATOR: readonly FunctionSpec[] = [transferSpec(CARDS)];
