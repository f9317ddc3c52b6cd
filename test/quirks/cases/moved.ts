import { expect } from '@jest/globals';
import { z } from 'zod';
import { listIn, objectIn, textIn, type JsonObject } from '../../../src/core/json.js';
import { silentLogger } from '../../../src/core/logger.js';
import { textPart } from '../../../src/core/message.js';
import type { ModelProvider } from '../../../src/core/model.js';
import { defineTool } from '../../../src/core/tool.js';
import { newId } from '../../../src/core/ids.js';
import { createAnthropicProvider } from '../../../src/models/anthropic/provider.js';
import { createOpenaiProvider } from '../../../src/models/openai/provider.js';
import { API_KEY } from '../../support/model-wire.js';
import { events, ScriptedServer, status } from '../../support/scripted-server.js';
import { sendParts, startServer } from '../../support/server.js';
import type { Quirk } from '../quirk.js';
import { refusalBody, RULES, type VendorRule } from '../vendor-rules.js';
import { streamOf, type ModelWireName, type VendorAnswer } from '../vendor-streams.js';

const objects = (value: unknown): readonly JsonObject[] => listIn(value).map(objectIn);

/** The calls in a body of Chat Completions, with the message of each. */
const callsIn = ({ messages }: JsonObject) =>
  objects(messages).flatMap((message) => objects(message.tool_calls).map((call) => ({ message, call })));

interface StrictVendor {
  readonly name: string;
  readonly wire: ModelWireName;
  readonly rules: readonly VendorRule[];
  /** The id of a call, in the form of this vendor. */
  readonly id: (number: number) => string;
  /** The members that this vendor adds to an answer with calls. */
  readonly own?: VendorAnswer;
  readonly ownOfCall?: JsonObject;
}

const nineCharacters: VendorRule = (body) =>
  callsIn(body).every(({ call }) => /^[a-zA-Z0-9]{9}$/.test(textIn(call.id)))
    ? undefined
    : 'Tool call id must be a-z, A-Z, 0-9, with a length of 9.';

const ROLES = /^(system,)?user(,assistant(,tool)*(,assistant)?(,user)?)*$/;

const noUserAfterTool: VendorRule = ({ messages }) => {
  const roles = objects(messages).map(({ role }) => textIn(role));
  if (roles.some((role, at) => role === 'user' && roles[at - 1] === 'tool'))
    return "Unexpected role 'user' after role 'tool'";
  return ROLES.test(roles.join()) ? undefined : `Unexpected order of roles: ${roles.join()}`;
};

/** Refuses members that the vendor does not know on messages and calls. */
const knowsOnly =
  (...names: readonly string[]): VendorRule =>
  (body) => {
    const known = ['role', 'content', 'tool_calls', 'tool_call_id', 'id', 'type', 'function', ...names];
    const all = [...objects(body.messages), ...callsIn(body).map(({ call }) => call)];
    const unknown = all.flatMap((one) => Object.keys(one)).find((name) => !known.includes(name));
    return unknown && `${unknown}: Extra inputs are not permitted`;
  };

const hasReasoning: VendorRule = (body) =>
  callsIn(body).every(({ message }) => textIn(message.reasoning_content) !== '')
    ? undefined
    : 'The `reasoning_content` in the thinking mode must be passed back to the API.';

const hasSignature: VendorRule = (body) =>
  callsIn(body).every(({ call }) => textIn(objectIn(objectIn(call.extra_content).google).thought_signature))
    ? undefined
    : 'Function call is missing a thought_signature in functionCall parts.';

const numbered: VendorRule = (body) =>
  callsIn(body).every(({ call }, at) => call.id === `functions.${textIn(objectIn(call.function).name)}:${at}`)
    ? undefined
    : 'The ids of calls must be functions.NAME:NUMBER.';

const VENDORS: readonly StrictVendor[] = [
  {
    name: 'gpt-test',
    wire: 'Responses',
    rules: [],
    id: (number) => `call_${'x'.repeat(30)}${number}`,
    own: { thoughts: 'why' },
  },
  {
    name: 'claude-test',
    wire: 'Messages',
    rules: [],
    id: (number) => `toolu_01${number}`,
    own: { thoughts: 'so' },
  },
  {
    name: 'magistral-test',
    wire: 'Chat Completions',
    rules: [nineCharacters, noUserAfterTool, knowsOnly()],
    id: (number) => `abcdefgh${number % 10}`,
    own: { more: { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] } },
  },
  {
    name: 'deepseek-test',
    wire: 'Chat Completions',
    rules: [hasReasoning, knowsOnly('reasoning_content')],
    id: (number) => `call_00_${number}`,
    own: { thoughts: 'I look.' },
  },
  {
    name: 'gemini-test',
    wire: 'Chat Completions',
    rules: [hasSignature, knowsOnly('extra_content')],
    id: (number) => `function-call-${'9'.repeat(40)}${number}`,
    ownOfCall: { extra_content: { google: { thought_signature: 'SIGNED==' } } },
  },
  {
    name: 'kimi-k2-test',
    wire: 'Chat Completions',
    rules: [numbered, hasReasoning, knowsOnly('reasoning_content')],
    id: (number) => `functions.shot:${number}`,
    own: { thoughts: 'I look too.' },
  },
];

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const shot = defineTool({
  name: 'shot',
  description: 'Takes a picture.',
  schema: z.object({ what: z.string() }),
  effect: 'pure',
  execute: ({ what }) => {
    if (what === 'nothing') return Promise.reject(new Error('There is nothing.'));
    const files = [{ kind: 'file', mediaType: 'image/png', bytes: PNG } as const];
    return Promise.resolve({ content: `A picture of ${what}.`, ...(what === 'a wall' && { files }) });
  },
});

function providerOf({ wire, name }: StrictVendor, url: string): ModelProvider {
  const common = { model: name, apiKey: API_KEY, maxRetries: 0, logger: silentLogger };
  if (wire === 'Messages') return createAnthropicProvider({ ...common, baseUrl: url });
  const api = wire === 'Responses' ? 'responses' : 'chat';
  return createOpenaiProvider({ ...common, baseUrl: `${url}/v1`, api });
}

const wireOf = (path: string): ModelWireName =>
  path.includes('/messages') ? 'Messages' : path.includes('/responses') ? 'Responses' : 'Chat Completions';

/** The turns of a task: each vendor has two of them with calls, and the last one answers. */
const TURNS = 2 * VENDORS.length;

/** A task whose model changes at each of its turns. */
export const MOVED: readonly Quirk[] = VENDORS.map((_, first) => ({
  id: `moved-${first + 1}`,
  class: 8,
  wire: 'Chat Completions',
  vendor: 'OpenAI, Anthropic, Mistral, DeepSeek, Gemini and Kimi',
  source: 'langchain-ai/langchain#37756',
  quirk: `Six vendors, each as strict as its documentation, take turns in one task; ${VENDORS[first]!.name} begins.`,
  right: 'Every request is accepted by the vendor that gets it, also in the next task of the conversation.',
  async check() {
    await using far = await ScriptedServer.open();
    const refused: string[] = [];
    let asked = 0;
    far.willAlwaysReply((response, sent) => {
      const wire = wireOf(sent.path);
      const vendor = VENDORS.find(({ name }) => name === sent.body.model)!;
      const reason = [...RULES[wire], ...vendor.rules].map((rule) => rule(sent.body)).find(Boolean);
      if (reason) refused.push(`${vendor.name}: ${reason}`);
      const turn = asked++ % (TURNS + 1);
      const call = (what: string, at: number) => ({
        ...{ name: 'shot', id: vendor.id(turn * 2 + at), arguments: { what } },
        ...(vendor.ownOfCall && { more: vendor.ownOfCall }),
      });
      // Alone, two at once, one that fails, and one with a picture.
      const whats = [['a cat'], ['a dog', 'a hen'], ['nothing'], ['a wall']][turn % 4]!;
      const answer = turn === TURNS ? { text: 'All seen.' } : { ...vendor.own, calls: whats.map(call) };
      const reply = reason ? status(400, refusalBody(wire, reason)) : events(streamOf(wire, answer));
      return reply(response, sent);
    });
    const providers = VENDORS.map((vendor) => providerOf(vendor, far.url));
    let turn = first;
    const model: ModelProvider = {
      id: 'test/moved',
      stream: (request) => providers[turn++ % providers.length]!.stream(request),
    };
    const settings = { agent: { multiAgent: false }, approval: { policy: 'none' as const } };
    const server = await startServer({ settings, model, tools: [shot] });
    try {
      const contextId = newId();
      for (const text of ['look round', 'and again']) {
        const { end } = await sendParts(server, { parts: [textPart(text)], contextId });
        expect([refused, end.state, end.text]).toEqual([[], 'completed', 'All seen.']);
      }
      expect(asked).toBe(2 * (TURNS + 1));
    } finally {
      await server.stop();
    }
  },
}));
