import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';
import { listIn, objectIn, parseObject, textIn, type JsonObject } from '../../src/core/json.js';
import type { ServerOptions } from '../../src/index.js';
import { DONE, openaiChunk } from '../support/openai-wire.js';
import { BEDROCK_RULES, CHAT_RULES, GOOGLE_RULES, MISTRAL_RULES, VERTEX_RULES } from './package-rules.js';
import { RULES, type VendorRule } from './vendor-rules.js';
import { argumentsOf, deltasOf, newCallId, streamOf, type VendorAnswer } from './vendor-streams.js';

export type ModelSettings = NonNullable<NonNullable<ServerOptions['settings']>['model']>;

/** A vendor behind one package of the AI SDK. */
export interface PackageVendor {
  /** The last part of the ids of its cases. */
  readonly id: string;
  readonly name: string;
  /** The page of the vendor that describes its API. */
  readonly page: string;
  /** Package, name and options of the model, with the vendor at `url`. */
  settings(url: string): ModelSettings;
  /** The path of its requests. */
  readonly path: RegExp;
  key(headers: IncomingHttpHeaders): string;
  readonly rules: readonly VendorRule[];
  readonly mediaType: string;
  /** A whole stream. */
  stream(answer: VendorAnswer): Buffer;
  /** The body of an error. */
  errorBody(status: number, message: string): JsonObject;
  /** The word for an end at the limit of the output, and one for a failure. */
  readonly limit: string;
  readonly failed: string;
  /** The texts of the results in a request. */
  results(body: JsonObject): readonly string[];
  /** The text of the thoughts and their seal, as the vendor gets them back; undefined for a vendor without a seal. */
  thoughts(body: JsonObject): JsonObject;
  /** The bytes of the images in a request. */
  images(body: JsonObject): readonly string[];
  /** The schema of an output that is data, wherever this vendor takes it. */
  schema(body: JsonObject): unknown;
  /** The most tokens of the output. */
  limitOf(body: JsonObject): unknown;
}

export const THOUGHTS = 'First I look.';
const KEY = 'key-of-the-vendor-0123456789';

const objects = (value: unknown): readonly JsonObject[] => listIn(value).map(objectIn);
const bearer = ({ authorization = '' }: IncomingHttpHeaders): string => authorization.replace('Bearer ', '');
export const sse = (events: readonly unknown[]): Buffer =>
  Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));

/* ---------- Google and Vertex ---------- */

/** The seal of Gemini: on the first call of an answer, else on the last text. */
const SIGNATURE = 'c2lnbmF0dXJl';

const partsOf = (body: JsonObject): readonly JsonObject[] =>
  objects(body.contents).flatMap(({ parts }) => objects(parts));

function geminiStream({ thoughts = '', text = '', calls = [], stop, more }: VendorAnswer): Buffer {
  const seal = thoughts === '' ? {} : { thoughtSignature: SIGNATURE };
  const parts = [
    ...deltasOf(thoughts).map((piece) => ({ text: piece, thought: true })),
    ...deltasOf(text).map((piece) => ({ text: piece })),
    ...calls.map(({ name, arguments: args = {}, more: own }, at) => ({
      functionCall: { name, args: typeof args === 'string' ? (parseObject(args) ?? {}) : args, ...own },
      ...(at === 0 && seal),
    })),
    ...(calls.length === 0 && thoughts !== '' ? [{ text: '', ...seal }] : []),
  ];
  const chunk = (part: object, last: object = {}) => ({
    candidates: [{ content: { role: 'model', parts: [part] }, index: 0, ...last }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    ...{ modelVersion: 'gemini-3-pro-preview', responseId: 'r1' },
  });
  const end = { finishReason: stop ?? 'STOP', ...more };
  return sse([...parts.map((part) => chunk(part)), chunk({ text: '' }, end)]);
}

export const google: PackageVendor = {
  id: 'Google',
  name: 'Google',
  page: 'The reference of the Gemini API (streamGenerateContent)',
  settings: (url) => ({
    ...{ provider: 'ai-sdk', package: '@ai-sdk/google', name: 'gemini-3-pro-preview', apiKey: KEY },
    baseUrl: `${url}/v1beta`,
  }),
  path: /^\/v1beta\/models\/gemini-3-pro-preview:streamGenerateContent\?alt=sse$/,
  key: (headers) => String(headers['x-goog-api-key']),
  rules: GOOGLE_RULES,
  mediaType: 'text/event-stream',
  stream: geminiStream,
  errorBody: (code, message) => ({
    error: { code, message, status: code === 429 ? 'RESOURCE_EXHAUSTED' : 'INVALID_ARGUMENT' },
  }),
  ...{ limit: 'MAX_TOKENS', failed: 'OTHER' },
  results: (body) =>
    partsOf(body).flatMap(({ functionResponse }) => {
      const { response } = objectIn(functionResponse);
      return response === undefined
        ? []
        : [textIn(objectIn(response).content) || textIn(objectIn(response).error)];
    }),
  thoughts: (body) => {
    const parts = partsOf(body);
    const text = parts.map((part) => (part.thought === true ? textIn(part.text) : '')).join('');
    return { text, seal: parts.find(({ functionCall }) => functionCall)?.thoughtSignature };
  },
  images: (body) => partsOf(body).flatMap(({ inlineData }) => textIn(objectIn(inlineData).data) || []),
  schema: ({ generationConfig }) => objectIn(generationConfig).responseJsonSchema,
  limitOf: ({ generationConfig }) => objectIn(generationConfig).maxOutputTokens,
};

const vertex: PackageVendor = {
  ...google,
  id: 'GoogleVertex',
  name: 'Google Vertex',
  page: 'The reference of Vertex AI (streamGenerateContent)',
  settings: (url) => ({
    ...{ provider: 'ai-sdk', package: '@ai-sdk/google-vertex', name: 'gemini-3-pro-preview', apiKey: KEY },
    baseUrl: `${url}/v1/publishers/google`,
  }),
  path: /^\/v1\/publishers\/google\/models\/gemini-3-pro-preview:streamGenerateContent\?alt=sse$/,
  rules: VERTEX_RULES,
};

/* ---------- Amazon Bedrock ---------- */

/** One message of an event stream of AWS: lengths, headers and payload, each with its checksum. */
export function frame(type: string, payload: object): Buffer {
  const header = (name: string, value: string): Buffer => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(value.length);
    return Buffer.concat([
      Buffer.of(name.length),
      Buffer.from(name),
      Buffer.of(7),
      length,
      Buffer.from(value),
    ]);
  };
  const [kind, name] = type.endsWith('Exception')
    ? ['exception', ':exception-type']
    : ['event', ':event-type'];
  const headers = Buffer.concat([
    ...[header(name, type), header(':content-type', 'application/json'), header(':message-type', kind)],
  ]);
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + headers.length + body.length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const message = Buffer.concat([prelude, headers, body, Buffer.alloc(4)]);
  message.writeUInt32BE(crc32(message.subarray(0, -4)), message.length - 4);
  return message;
}

const BEDROCK_SEAL = 'EqQBCkYIBx';

function bedrockStream({ thoughts = '', text = '', calls = [], stop, more }: VendorAnswer): Buffer {
  const delta = (at: number, given: object) =>
    frame('contentBlockDelta', { contentBlockIndex: at, delta: given, p: 'abcdefgh' });
  const end = (at: number) => frame('contentBlockStop', { contentBlockIndex: at });
  const blocks = [
    ...(thoughts === ''
      ? []
      : [
          (at: number) => [
            ...deltasOf(thoughts).map((piece) => delta(at, { reasoningContent: { text: piece } })),
            delta(at, { reasoningContent: { signature: BEDROCK_SEAL } }),
          ],
        ]),
    ...(text === '' ? [] : [(at: number) => deltasOf(text).map((piece) => delta(at, { text: piece }))]),
    ...calls.map((call) => (at: number) => [
      frame('contentBlockStart', {
        contentBlockIndex: at,
        start: { toolUse: { toolUseId: `tooluse_${newCallId()}`, name: call.name } },
      }),
      ...deltasOf(argumentsOf(call)).map((input) => delta(at, { toolUse: { input } })),
    ]),
  ];
  return Buffer.concat([
    frame('messageStart', { role: 'assistant' }),
    ...blocks.flatMap((block, at) => [...block(at), end(at)]),
    frame('messageStop', { stopReason: stop ?? (calls.length > 0 ? 'tool_use' : 'end_turn'), ...more }),
    frame('metadata', {
      usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
      metrics: { latencyMs: 9 },
    }),
  ]);
}

const blocksOf = (body: JsonObject): readonly JsonObject[] =>
  objects(body.messages).flatMap(({ content }) => objects(content));

export const bedrock: PackageVendor = {
  id: 'Amazon',
  name: 'Amazon Bedrock',
  page: 'The reference of Amazon Bedrock (ConverseStream)',
  settings: (url) => ({
    ...{ provider: 'ai-sdk', package: '@ai-sdk/amazon-bedrock', apiKey: KEY },
    name: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    ...{ baseUrl: url, options: { region: 'us-east-1' } },
  }),
  path: /^\/model\/us\.anthropic\.claude-sonnet-4-5-20250929-v1%3A0\/converse-stream$/,
  key: bearer,
  rules: BEDROCK_RULES,
  mediaType: 'application/vnd.amazon.eventstream',
  stream: bedrockStream,
  errorBody: (_, message) => ({ message }),
  ...{ limit: 'max_tokens', failed: 'malformed_model_output' },
  results: (body) =>
    blocksOf(body).flatMap(({ toolResult }) =>
      objects(objectIn(toolResult).content).map(({ text }) => textIn(text)),
    ),
  thoughts: (body) => {
    const { reasoningText } = objectIn(
      blocksOf(body).find((block) => block.reasoningContent)?.reasoningContent,
    );
    const { text, signature } = objectIn(reasoningText);
    return { text, seal: signature };
  },
  images: (body) =>
    blocksOf(body).flatMap(({ image }) => textIn(objectIn(objectIn(image).source).bytes) || []),
  schema: ({ additionalModelRequestFields, toolConfig }) =>
    objectIn(objectIn(objectIn(additionalModelRequestFields).output_config).format).schema ??
    objectIn(
      objectIn(
        objects(objectIn(toolConfig).tools)
          .map(({ toolSpec }) => objectIn(toolSpec))
          .find(({ name }) => name === 'json'),
      ).inputSchema,
    ).json,
  limitOf: ({ inferenceConfig }) => objectIn(inferenceConfig).maxTokens,
};

/* ---------- Vendors of Chat Completions and Responses ---------- */

const TOKENS = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

const chatImages = (body: JsonObject): readonly string[] =>
  objects(body.messages)
    .flatMap(({ content }) => objects(content))
    .flatMap(({ image_url: url }) => (textIn(url) || textIn(objectIn(url).url)).split(',')[1] ?? []);

const chat: Omit<PackageVendor, 'id' | 'name' | 'page' | 'settings' | 'path' | 'thoughts'> = {
  key: bearer,
  rules: CHAT_RULES,
  mediaType: 'text/event-stream',
  stream: (answer) => Buffer.from(streamOf('Chat Completions', answer)),
  errorBody: (_, message) => ({ error: { message, type: 'invalid_request_error', code: null } }),
  ...{ limit: 'length', failed: 'error' },
  results: ({ messages }) =>
    objects(messages).flatMap(({ role, content }) => (role === 'tool' ? textIn(content) : [])),
  images: chatImages,
  schema: ({ response_format: format }) => objectIn(objectIn(format).json_schema).schema,
  limitOf: ({ max_tokens: limit, max_completion_tokens: newer }) => newer ?? limit,
};

const lastCalling = ({ messages }: JsonObject): JsonObject =>
  objects(messages).findLast(({ tool_calls: calls }) => calls) ?? {};

export const compatible: PackageVendor = {
  ...chat,
  id: 'DeepSeek',
  name: 'DeepSeek (openai-compatible)',
  page: 'The guide of DeepSeek to its thinking mode',
  settings: (url) => ({
    ...{ provider: 'ai-sdk', package: '@ai-sdk/openai-compatible', name: 'deepseek-chat', apiKey: KEY },
    ...{ baseUrl: `${url}/v1`, options: { name: 'deepseek' } },
  }),
  path: /^\/v1\/chat\/completions$/,
  failed: 'insufficient_system_resource',
  thoughts: (body) => ({ text: lastCalling(body).reasoning_content }),
};

const groq: PackageVendor = {
  ...chat,
  id: 'Groq',
  name: 'Groq',
  page: 'The API reference of Groq (chat completions)',
  settings: (url) => ({
    ...{ provider: 'ai-sdk', package: '@ai-sdk/groq', name: 'openai/gpt-oss-120b', apiKey: KEY },
    baseUrl: `${url}/openai/v1`,
  }),
  path: /^\/openai\/v1\/chat\/completions$/,
  stream: (answer) =>
    Buffer.from(
      streamOf('Chat Completions', answer)
        .replaceAll('reasoning_content', 'reasoning')
        .replace(/("finish_reason":"[^"]+"}])}/, `$1,"x_groq":{"id":"r","usage":${JSON.stringify(TOKENS)}}}`),
    ),
  // Its models are forced to call this function where others follow the schema of an answer.
  schema: ({ tools }) =>
    objects(tools)
      .map((tool) => objectIn(tool.function))
      .find(({ name }) => name === 'json')?.parameters,
  thoughts: (body) => ({ text: lastCalling(body).reasoning }),
};

/** Mistral sends each call whole, and thoughts as parts of the content. */
function mistralStream({ thoughts = '', text = '', calls = [], stop }: VendorAnswer): Buffer {
  const thinking = (piece: string) => [{ type: 'thinking', thinking: [{ type: 'text', text: piece }] }];
  return Buffer.from(
    [
      openaiChunk({ role: 'assistant', content: '' }),
      ...deltasOf(thoughts).map((piece) => openaiChunk({ content: thinking(piece) })),
      ...deltasOf(text).map((content) => openaiChunk({ content })),
      ...calls.map((call, index) => {
        const id = newCallId().replace('call_', 'id00');
        return openaiChunk({
          tool_calls: [{ index, id, function: { name: call.name, arguments: argumentsOf(call) } }],
        });
      }),
      withUsage(openaiChunk({}, stop ?? (calls.length > 0 ? 'tool_calls' : 'stop'))),
      DONE,
    ].join(''),
  );
}

/** The last chunk with the usage in it, where Mistral sends it. */
const withUsage = (chunk: string): string =>
  chunk.replace(/}\n\n$/, `,"usage":${JSON.stringify(TOKENS)}}\n\n`);

export const mistral: PackageVendor = {
  ...chat,
  id: 'Mistral',
  name: 'Mistral',
  page: 'The API reference of Mistral (chat completions)',
  settings: (url) => ({
    ...{ provider: 'ai-sdk', package: '@ai-sdk/mistral', name: 'magistral-medium-latest', apiKey: KEY },
    baseUrl: `${url}/v1`,
  }),
  path: /^\/v1\/chat\/completions$/,
  rules: MISTRAL_RULES,
  stream: mistralStream,
  errorBody: (status, message) => ({
    object: 'error',
    message,
    type: 'invalid_request_error',
    code: String(status),
  }),
  thoughts: (body) => {
    const [first] = objects(lastCalling(body).content);
    return { text: textIn(objects(first?.thinking)[0]?.text) };
  },
};

/** The Responses API, with all members that its description requires. */
function responsesStream({ thoughts, text, calls = [], stop, more }: VendorAnswer): Buffer {
  const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5' };
  const reasoning = { type: 'reasoning', id: 'rs_1', encrypted_content: 'ENCRYPTED', summary: [] };
  const items: readonly { item: JsonObject; text: string }[] = [
    ...(thoughts === undefined ? [] : [{ item: reasoning, text: '' }]),
    ...(text === undefined ? [] : [{ item: { type: 'message', id: 'msg_1', role: 'assistant' }, text }]),
    ...calls.map((call) => {
      const id = newCallId();
      const item = { type: 'function_call', id: `fc_${id}`, call_id: id, name: call.name, arguments: '' };
      return { item, text: argumentsOf(call) };
    }),
  ];
  const status = stop === undefined ? 'completed' : 'incomplete';
  const end = {
    ...{ ...response, status, incomplete_details: stop === undefined ? null : { reason: stop } },
    usage: {
      ...{ input_tokens: 10, input_tokens_details: { cached_tokens: 0 }, total_tokens: 15 },
      ...{ output_tokens: 5, output_tokens_details: { reasoning_tokens: 0 } },
    },
    ...more,
  };
  return sse([
    { type: 'response.created', response },
    ...items.flatMap(({ item, text: whole }, at) => {
      const where = { output_index: at, item_id: item.id };
      const isCall = item.type === 'function_call';
      const delta = isCall ? 'response.function_call_arguments.delta' : 'response.output_text.delta';
      return [
        { type: 'response.output_item.added', output_index: at, item },
        ...deltasOf(whole).map((piece) => ({ type: delta, ...where, content_index: 0, delta: piece })),
        {
          ...{ type: 'response.output_item.done', output_index: at },
          item: isCall ? { ...item, arguments: whole, status: 'completed' } : item,
        },
      ];
    }),
    { type: `response.${status}`, response: end },
  ]);
}

export const azure: PackageVendor = {
  id: 'Azure',
  name: 'Azure',
  page: 'The reference of Azure OpenAI (Responses)',
  settings: (url) => ({
    ...{ provider: 'ai-sdk', package: '@ai-sdk/azure', name: 'gpt-5', apiKey: KEY },
    baseUrl: `${url}/openai/v1`,
  }),
  path: /^\/openai\/v1\/responses/,
  key: (headers) => String(headers['api-key']),
  rules: RULES.Responses,
  mediaType: 'text/event-stream',
  stream: responsesStream,
  errorBody: (status, message) => ({
    error: { message, type: 'invalid_request_error', code: String(status) },
  }),
  ...{ limit: 'max_output_tokens', failed: 'brand_new_reason' },
  results: ({ input }) =>
    objects(input).flatMap(({ type, output }) => (type === 'function_call_output' ? textIn(output) : [])),
  thoughts: ({ input }) => {
    const reasoning = objects(input).find(({ type }) => type === 'reasoning');
    return { text: '', seal: reasoning?.encrypted_content };
  },
  images: ({ input }) =>
    objects(input)
      .flatMap(({ content }) => objects(content))
      .flatMap(({ image_url: url }) => textIn(url).split(',')[1] ?? []),
  schema: ({ text }) => objectIn(objectIn(text).format).schema,
  limitOf: ({ max_output_tokens: limit }) => limit,
};

/** The same vendor through packages of earlier versions of the contract. */
const earlier: readonly PackageVendor[] = ['v2', 'v3'].map((version) => ({
  ...compatible,
  id: `DeepSeek-${version}`,
  name: `DeepSeek (openai-compatible of AI SDK ${version === 'v2' ? 5 : 6})`,
  settings: (url) => ({
    ...compatible.settings(url),
    package: `ai-sdk-compatible-${version}`,
    options: { name: 'deepseek', includeUsage: true, supportsStructuredOutputs: true },
  }),
}));

export const PACKAGE_VENDORS: readonly PackageVendor[] = [
  ...earlier,
  ...[google, vertex, bedrock, azure, mistral, groq, compatible],
];

/** The seals of thoughts, by the names of the vendors that seal them. */
export const SEALS: Readonly<Record<string, string>> = {
  [google.name]: SIGNATURE,
  [vertex.name]: SIGNATURE,
  [bedrock.name]: BEDROCK_SEAL,
  [azure.name]: 'ENCRYPTED',
};

export const VENDOR_KEY = KEY;
