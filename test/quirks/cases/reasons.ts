import { expect } from '@jest/globals';
import { API_KEY } from '../../support/model-wire.js';
import type { Quirk } from '../quirk.js';
import { ask } from '../strict-vendor.js';
import { MODEL_WIRES } from '../vendor-streams.js';

const WHY = 'REASON-17';

interface Form {
  readonly name: string;
  readonly vendor: string;
  readonly body: unknown;
  readonly says?: RegExp;
  readonly headers?: Record<string, string>;
}

const FORMS: readonly Form[] = [
  {
    name: 'list',
    vendor: 'Google (Gemini)',
    body: [{ error: { code: 400, message: WHY, status: 'INVALID_ARGUMENT' } }],
  },
  { name: 'detail', vendor: 'FastAPI servers', body: { detail: WHY } },
  {
    name: 'detail-list',
    vendor: 'FastAPI servers',
    body: { detail: [{ loc: ['body', 'messages', 0], msg: WHY, type: 'value_error' }] },
    says: /body\.messages\.0: REASON-17/,
  },
  { name: 'details', vendor: 'Gateways', body: { details: [{ description: WHY }] } },
  { name: 'message', vendor: 'AWS and Cohere', body: { message: WHY } },
  {
    name: 'object',
    vendor: 'vLLM and Mistral',
    body: { object: 'error', message: WHY, type: 'x', code: 400 },
  },
  { name: 'text', vendor: 'Proxies', body: WHY },
  { name: 'nested', vendor: 'Gateways', body: { error: { error: { message: WHY } } } },
  {
    name: 'nested-text',
    vendor: 'LiteLLM',
    body: { error: { message: JSON.stringify({ error: { message: WHY } }) } },
    says: /It says: REASON-17$/,
  },
  {
    name: 'raw',
    vendor: 'OpenRouter',
    body: {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: `{"error":{"message":"${WHY}"}}`, provider_name: 'Some' },
      },
    },
  },
  {
    name: 'failed-generation',
    vendor: 'Hugging Face',
    body: { error: ['Input validation error', WHY], error_type: 'validation' },
  },
  { name: 'problem', vendor: 'RFC 9457', body: { type: 'about:blank', title: WHY, status: 400 } },
  {
    name: 'page',
    vendor: 'nginx, Cloudflare',
    body: `<html><head><title>400 ${WHY}</title></head><body>markup</body></html>`,
    says: /It says: 400 REASON-17$/,
  },
  { name: 'unknown', vendor: 'Servers to come', body: { fault: { text: WHY } } },
  {
    name: 'key',
    vendor: 'OpenAI',
    body: { error: { message: `${WHY} for ${API_KEY}, sk-abcdefgh12345 and https://x/?key=abc123` } },
    says: /^(?!.*(abcdefgh|very-secret|abc123)).*REASON-17 for \[API key\], \[API key\] and/,
  },
];

/** The vendor's reason, whatever the form of its body. */
export const REASONS: readonly Quirk[] = [
  ...FORMS.flatMap(({ name, vendor, body, says = /REASON-17/ }) =>
    MODEL_WIRES.map((wire): Quirk => ({
      id: `reason-${name}-${wire}`,
      class: 15,
      wire,
      vendor,
      source: 'Gitlawb/openclaude#67',
      quirk: 'The body of an error has a form of its own, of which the SDK of the wire shows nothing.',
      right: 'The task and the log say the reason, without keys and markup.',
      async check() {
        const told = await ask({ wire, answers: [{ status: 400, body }] });
        expect([told.state, told.text]).toEqual(['failed', expect.stringMatching(says)]);
      },
    })),
  ),
  ...MODEL_WIRES.map((wire): Quirk => ({
    id: `reason-again-${wire}`,
    class: 15,
    wire,
    vendor: 'Vendors with quotas',
    source: '1jehuang/jcode#1183',
    quirk: 'Retry-After is three hours.',
    right: 'The task ends at once and says when the vendor takes requests again.',
    async check() {
      const body = { error: { message: 'Rate limit reached', type: 'rate_limit_error' } };
      const told = await ask({
        wire,
        model: { maxRetries: 3 },
        answers: [{ status: 429, headers: { 'retry-after': '10800' }, body }],
      });
      expect(told.requests).toHaveLength(1);
      expect(told.text).toMatch(/again at (\S+ )?\d\d:\d\d GMT[+−]\d\d:\d\d, in 3 h/);
    },
  })),
];

interface Code {
  readonly name: string;
  readonly vendor: string;
  readonly source: string;
  readonly status: number;
  readonly body: unknown;
  readonly says: RegExp;
}

const CODES: readonly Code[] = [
  {
    name: 'Groq',
    vendor: 'Groq',
    source: 'openclaw/openclaw#147644',
    status: 413,
    body: {
      error: {
        message: 'Request too large for model on tokens per minute (TPM): Limit 6000, Requested 7000',
        type: 'tokens',
        code: 'rate_limit_exceeded',
      },
    },
    says: /limits the rate/,
  },
  {
    name: 'GitHub',
    vendor: 'GitHub Models',
    source: 'github/copilot-cli#2760',
    status: 413,
    body: {
      error: { code: 'tokens_limit_reached', message: 'Request body too large. Max size: 8000 tokens.' },
    },
    says: /too large/,
  },
  {
    name: 'quota',
    vendor: 'OpenAI',
    source: 'Error codes (developers.openai.com)',
    status: 429,
    body: {
      error: {
        message: 'You exceeded your current quota',
        type: 'insufficient_quota',
        code: 'insufficient_quota',
      },
    },
    says: /no credit left/,
  },
  {
    name: 'Moonshot',
    vendor: 'Moonshot (Kimi)',
    source: 'Error codes (platform.moonshot.ai)',
    status: 400,
    body: { error: { type: 'engine_overloaded_error', message: 'The engine is currently overloaded' } },
    says: /cannot respond right now/,
  },
  {
    name: 'model',
    vendor: 'OpenAI',
    source: 'Error codes (developers.openai.com)',
    status: 403,
    body: { error: { code: 'model_not_found', message: 'Project does not have access to model m' } },
    says: /does not know the model/,
  },
  {
    name: 'llama.cpp',
    vendor: 'llama.cpp',
    source: 'ggml-org/llama.cpp (exceed_context_size_error)',
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'the request exceeds the available context size',
        type: 'exceed_context_size_error',
      },
    },
    says: /too large/,
  },
  {
    name: 'proxy',
    vendor: 'Gateways',
    source: 'The class: a type of a server error with the status of a bad request',
    status: 400,
    body: { error: { type: 'api_error', message: 'This member is not known.' } },
    says: /rejects the request/,
  },
];

/** A body's code says more than its status. */
export const CODES_BEFORE_STATUS: readonly Quirk[] = CODES.map(({ name, status, body, says, ...row }) => ({
  id: `code-${name}`,
  class: 10,
  wire: 'Chat Completions',
  ...row,
  quirk: `An error has status ${status}, and a code that means something else.`,
  right: 'The code decides what is done.',
  async check() {
    const told = await ask({ wire: 'Chat Completions', answers: [{ status, body }] });
    expect([told.state, told.text]).toEqual(['failed', expect.stringMatching(says)]);
  },
}));

/** A limit of tokens a minute is waited for, in the vendor's time. */
export const WAITS: readonly Quirk[] = [
  {
    id: 'wait-Groq',
    class: 10,
    wire: 'Chat Completions',
    vendor: 'Groq',
    source: 'openclaw/openclaw#16176',
    quirk: 'The wait until the next minute is in the text alone: "try again in 20ms".',
    right: 'The request is sent again after that time.',
    async check() {
      const body = {
        error: { message: 'Rate limit: Please try again in 20ms.', code: 'rate_limit_exceeded' },
      };
      const told = await ask({
        wire: 'Chat Completions',
        model: { maxRetries: 1 },
        answers: [{ status: 413, body }, { text: 'Now.' }],
      });
      expect([told.state, told.text]).toEqual(['completed', 'Now.']);
    },
  },
];
