import { expect } from '@jest/globals';
import { listIn, objectIn, textIn, type JsonObject } from '../../../src/core/json.js';
import type { Part } from '../../../src/core/message.js';
import type { ModelMessage } from '../../../src/core/model.js';
import { answerOf, modelRequest, userMessage } from '../../support/model-requests.js';
import { API_KEY } from '../../support/model-wire.js';
import { openaiWire } from '../../support/openai-wire.js';
import { events, ScriptedServer, status } from '../../support/scripted-server.js';
import type { Quirk } from '../quirk.js';
import { ask, type VendorResponse, type Sent } from '../strict-vendor.js';
import type { VendorRule } from '../vendor-rules.js';
import { MODEL_WIRES, streamOf } from '../vendor-streams.js';

const objects = (value: unknown): readonly JsonObject[] => listIn(value).map(objectIn);
const json = (value: unknown): string => JSON.stringify(value) ?? '';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const PICTURE: Part = { kind: 'file', mediaType: 'image/png', bytes: PNG };
const LOOK: readonly Part[] = [{ kind: 'text', text: 'look' }, PICTURE];

const isMissing =
  (name: string, message: string): VendorRule =>
  ({ messages }) => {
    const answers = objects(messages).filter(({ role }) => role === 'assistant');
    return answers.every((one) => json(one).includes(name)) ? undefined : message;
  };

/** Servers that require members which only their own model writes, after a model of another vendor has begun. */
export const FOREIGN_MEMBERS: readonly Quirk[] = [
  {
    id: 'foreign-DeepSeek',
    vendor: 'DeepSeek',
    source: 'earendil-works/pi#3636',
    name: '"reasoning_content":"I call',
    message: 'The `reasoning_content` in the thinking mode must be passed back to the API.',
  },
  {
    id: 'foreign-Kimi',
    vendor: 'Moonshot (Kimi)',
    source: 'NousResearch/hermes-agent#17212',
    name: '"reasoning_content":"I call',
    message: 'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2',
  },
  {
    id: 'foreign-Gemini',
    vendor: 'Google (Gemini)',
    source: 'earendil-works/pi#6733',
    name: '"thought_signature":"skip_thought_signature_validator"',
    message: 'Function call is missing a thought_signature in functionCall parts.',
  },
].map(({ id, vendor, source, name, message }) => ({
  id,
  class: 8,
  wire: 'Chat Completions',
  vendor,
  source,
  quirk: 'The server requires a member on each call, which the model of another vendor has not written.',
  right: 'A stand-in of its own is sent with the calls of other models, once the server has asked for it.',
  async check() {
    const told = await ask({
      wire: 'Chat Completions',
      model: { name: id, fallbacks: ['strict'] },
      answers({ model, n, body }) {
        if (model === id) return n === 0 ? { calls: [{ name: 'fs_list' }] } : { status: 503, body: 'busy' };
        const reason = isMissing(name, message)(body);
        return reason === undefined
          ? { text: 'Done.' }
          : { status: 400, body: { error: { message: reason } } };
      },
    });
    expect([told.state, told.text]).toEqual(['completed', 'Done.']);
    expect(told.requests.map(({ model }) => model)).toEqual([id, id, 'strict', 'strict']);
  },
}));

const BAD_IMAGES = {
  'Chat Completions': 'Invalid image data at messages[1].content[1].image_url',
  Responses: 'The image data you provided does not represent a valid image. Unsupported image format.',
  Messages: 'messages.0.content.1.image.source.base64: Could not process image',
};

/** One image, or one block of the model's own, that ends a conversation for good. */
export const POISON: readonly Quirk[] = [
  ...MODEL_WIRES.map((wire): Quirk => ({
    id: `poison-image-${wire}`,
    class: 3,
    wire,
    vendor: 'All vendors',
    source: 'zed-industries/zed#31220',
    quirk: 'An image cannot be read, and every later request of the conversation is refused for it.',
    right: 'A line of text takes its place, in this task and in later ones; other images are shown.',
    async check() {
      const bad = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1]).toString('base64');
      let refused = 0;
      const answers = ({ body }: Sent): VendorResponse => {
        if (!json(body).includes(bad)) return { text: 'Seen.' };
        refused += 1;
        return { status: 400, body: { type: 'error', error: { type: 'x', message: BAD_IMAGES[wire] } } };
      };
      const model = { name: `poison-${wire}` };
      const before = await ask({ wire, model, message: LOOK, answers });
      const { contextId } = before;
      const message: readonly Part[] = [{ kind: 'file', mediaType: 'image/png', bytes: bad }];
      const told = await ask({ wire, model, contextId, message, answers });
      const after = await ask({ wire, model, contextId, answers });
      expect([told.state, after.state, refused]).toEqual(['completed', 'completed', 1]);
      expect(json(told.requests.at(-1)!.body)).toContain(PNG);
    },
  })),
  ...(['Messages', 'Responses'] as const).map((wire): Quirk => ({
    id: `poison-own-blocks-${wire}`,
    class: 3,
    wire,
    vendor: wire === 'Messages' ? 'Anthropic' : 'OpenAI',
    source: wire === 'Messages' ? 'Claude Haiku 5.5 overview (platform.claude.com)' : 'newo-ether/Agora#141',
    quirk:
      'After a change of the account, the vendor refuses the thoughts that it signed or encrypted before.',
    right: 'They are left out of the requests of this conversation, and kept in others.',
    async check() {
      const reason =
        wire === 'Messages'
          ? 'messages.1.content.0: Invalid `signature` in `thinking` block'
          : 'The encrypted content gAAA could not be verified. Reason: Encrypted content could not be decrypted.';
      const mark = wire === 'Messages' ? '"thinking"' : '"encrypted_content"';
      const told = await ask({
        wire,
        answers: ({ n, body }) => {
          if (n === 0) return { thoughts: 'so', calls: [{ name: 'fs_list' }] };
          const holdsThoughts = json(body.messages ?? body.input).includes(mark);
          return holdsThoughts
            ? {
                status: 400,
                body: { type: 'error', error: { type: 'invalid_request_error', message: reason } },
              }
            : { text: 'Done.' };
        },
      });
      expect([told.state, told.requests.length]).toEqual(['completed', 3]);
      const fine = await ask({
        wire,
        answers: [{ thoughts: 'so', calls: [{ name: 'fs_list' }] }, { text: 'Done.' }],
      });
      expect(json(fine.requests.at(-1)!.body)).toContain(mark);
    },
  })),
  {
    id: 'poison-order',
    class: 3,
    wire: 'Chat Completions',
    vendor: 'Mistral',
    source: 'BerriAI/litellm#6323',
    quirk:
      'A message of the user right after the result of a call is refused, such as one with the images of it.',
    right: 'A short line of the assistant stands between the two, once the server has refused it.',
    async check() {
      await using server = await ScriptedServer.open();
      const roles: unknown[][] = [];
      server.willAlwaysReply((response, sent) => {
        const own = objects(sent.body.messages).map(({ role }) => role);
        roles.push(own);
        const isWrong = own.some((role, at) => role === 'user' && own[at - 1] === 'tool');
        const message = "Unexpected role 'user' after role 'tool'";
        const reply = isWrong
          ? status(400, { object: 'error', message, type: 'invalid_request_message_order', code: '3230' })
          : events(streamOf('Chat Completions', { text: 'Seen.' }));
        return reply(response, sent);
      });
      const provider = openaiWire.create({ baseUrl: server.url, apiKey: API_KEY });
      const call = { type: 'function-call', id: 'a', name: 'shot', arguments: {} } as const;
      const result = { id: 'a', name: 'shot', content: 'a picture', isError: false, images: [PICTURE] };
      const messages: readonly ModelMessage[] = [
        userMessage('look'),
        { role: 'assistant', author: 'agent', content: [call] },
        { role: 'results', results: [result] },
      ];
      await answerOf(provider, modelRequest({ messages }));
      await answerOf(provider, modelRequest({ messages }));
      const wrong = ['user', 'assistant', 'tool', 'user'];
      const right = ['user', 'assistant', 'tool', 'assistant', 'user'];
      expect(roles).toEqual([wrong, right, right]);
    },
  },
  {
    id: 'poison-empty-message',
    class: 3,
    wire: 'Chat Completions',
    vendor: 'All vendors',
    source: 'The errors of the APIs ("messages must not be empty")',
    quirk: 'A message of white space alone leaves a request without messages.',
    right: 'A line says that the message is empty.',
    async check() {
      const told = await ask({ wire: 'Chat Completions', message: ' \n', answers: [{ text: 'Yes?' }] });
      expect([told.state, told.refused]).toEqual(['completed', []]);
      const [, user] = objects(told.requests[0]!.body.messages);
      expect(textIn(user!.content)).toContain('empty');
    },
  },
];
