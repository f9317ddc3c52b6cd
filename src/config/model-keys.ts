import { z } from 'zod';
import {
  choice,
  count,
  flag,
  group,
  httpUrl,
  list,
  optional,
  seconds,
  secret,
  secretLine,
  text,
} from '../core/fields.js';

export const DEFAULT_ANTHROPIC_MODEL = 'claude-sonnet-5-5';
export const DEFAULT_OPENAI_MODEL = 'gpt-6.1-sol';

const price = z.number().nonnegative();

export const prices = z
  .record(
    z.string(),
    z.strictObject({
      input: price.describe('A million tokens of input.'),
      output: price.describe('A million tokens of output.'),
      cacheRead: optional(price, "A million tokens of input read from the vendor's cache. Default: `input`."),
      cacheWrite: optional(
        price,
        "A million tokens of input written to the vendor's cache. Default: `input`.",
      ),
    }),
  )
  .default({})
  .describe(
    "What models cost, by their names, in `bill.currency`. Default: the vendors' list prices in US dollars, as far as this version knows them.",
  );

export const bill = group('How money is counted.', {
  currency: text().default('USD').describe('The currency of `prices` and of limits of cost.'),
});

/** The keys for how much a model thinks and how it chooses its words. They apply to one model only. */
const tuning = {
  effort: optional(
    z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']),
    "How much work the model puts into an answer, in the vendor's own words: Anthropic takes `low` to `max`, OpenAI what the model offers. Default: the model's own.",
  ),
  thinking: optional(
    z.union([z.enum(['adaptive', 'off']), z.int().min(1024)]),
    "For `anthropic`: `adaptive` lets the model think before it answers, `off` forbids it, and a number is the most tokens of thinking, for older models. Default: the model's own.",
  ),
  temperature: optional(
    z.number().min(0).max(2),
    "How freely the model chooses its words. Newer models refuse it. Default: the model's own.",
  ),
};

/** The keys of a model of a package of the AI SDK. */
const ofPackage = {
  package: optional(
    z.string().regex(/^(@[\w.-]+\/)?[\w.-]+(\/[\w.-]+)*$/, 'must be the name of a package'),
    'For `ai-sdk`: the provider package of the AI SDK, such as `@ai-sdk/google`. You install it beside the configuration file. Default: as in `model`.',
  ),
  factory: optional(
    text(),
    'For `ai-sdk`: the function of the package that makes its provider, when it has several. Default: the one whose name begins with `create`.',
  ),
  options: optional(
    z.record(z.string(), z.unknown()),
    "For `ai-sdk`: what that function is given besides `apiKey`, `baseURL` and `fetch`, such as `region`, `project` or `headers`; see the package's page. Default: none.",
  ),
  secretOptions: z.record(z.string(), secretLine()).optional().meta({
    description:
      'For `ai-sdk`: further `options` whose values are secrets, such as `secretAccessKey`. Default: none.',
    writeOnly: true,
  }),
  providerOptions: optional(
    z.record(z.string(), z.record(z.string(), z.unknown())),
    'For `ai-sdk`: options of each call, by the name that the package gives its provider: `google: { thinkingConfig: … }`. Default: none.',
  ),
};

const windowTokens = optional(
  z.int().min(1_000),
  'The context window of the model: the most tokens of a request and its answer. Old results of tools are cleared before a task fills it. Default: known for current models of both vendors, else learned when the server refuses a request that is too long.',
);

/** The keys of a model other than `model`. */
const ownModel = {
  provider: optional(
    z.enum(['anthropic', 'openai', 'ai-sdk', 'offline']),
    'Its vendor. Default: as in `model`.',
  ),
  name: optional(text(), "The vendor's name of it. Default: as in `model`, or the default of its provider."),
  baseUrl: optional(httpUrl(), 'The address of its server. Default: as in `model`, or its vendor.'),
  api: optional(
    z.enum(['auto', 'chat', 'responses']),
    'As `model.api`. Default: `auto`, or as in `model` for the same server.',
  ),
  apiKey: secret(
    'Its key. Default: the key of its provider, which is not sent to a `baseUrl` of this entry.',
  ),
  images: optional(z.boolean(), 'As `model.images`. Default: `true`.'),
  windowTokens,
  ...tuning,
  ...ofPackage,
};

/** The name of a model, or its keys. */
export const otherModel = z.union([text(), z.strictObject(ownModel)]);

export const model = group('The language model.', {
  provider: choice(
    ['auto', 'offline', 'anthropic', 'openai', 'ai-sdk'],
    'auto',
    'The vendor that answers. `auto`: `anthropic` when its key is set, else `openai` when its key is set, else `offline`, a small built-in model that needs no key. An explicit `openai` needs `model.name`. `ai-sdk`: another vendor, by its package of the AI SDK in `model.package`; see [Choose models](../guides/choose-models.md#any-other-vendor).',
  ),
  name: optional(
    text(),
    `The provider's model. Default: \`${DEFAULT_ANTHROPIC_MODEL}\` for \`anthropic\`, \`${DEFAULT_OPENAI_MODEL}\` when \`auto\` takes \`openai\`.`,
  ),
  baseUrl: optional(
    httpUrl(),
    "Address of a compatible server, such as Ollama or vLLM. Default: the vendor's.",
  ),
  api: choice(
    ['auto', 'chat', 'responses'],
    'auto',
    "The API that the provider `openai` uses: Chat Completions or Responses. `auto`: Responses at OpenAI's own address, where newer models take functions in no other way, and Chat Completions elsewhere.",
  ),
  apiKey: secret(
    'The key. Default: the variable `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`; for `ai-sdk` what the package reads.',
  ),
  apiKeys: group(
    'The keys by provider, for agents and fallbacks with another provider than that of `model`.',
    {
      anthropic: secret('The key of Anthropic. Default: the variable `ANTHROPIC_API_KEY`.'),
      openai: secret('The key of OpenAI. Default: the variable `OPENAI_API_KEY`.'),
    },
  ),
  ...tuning,
  ...ofPackage,
  baseUrls: group('The addresses by provider, for models without a `baseUrl` of their own.', {
    anthropic: optional(
      httpUrl(),
      'The address of Anthropic. Default: the variable `ANTHROPIC_BASE_URL`, or the vendor.',
    ),
    openai: optional(
      httpUrl(),
      'The address of OpenAI. Default: the variable `OPENAI_BASE_URL`, or the vendor.',
    ),
  }),
  fallbacks: list(
    z.array(otherModel),
    'Models that are asked in this order when the one before is overloaded, limits the rate or cannot be reached after all retries, when its vendor does not know it or a filter of it refuses, when the conversation is too long for it, or, for one of another provider, when the key is refused or has no credit. Each is the name of a model or the keys below. They stand in for the models of `agent.models` too.',
  ),
  fallbackOnRefusal: flag(
    true,
    'Whether the next of `fallbacks` is asked when a filter of the vendor refuses a request or stops an answer. It is never asked when the model itself declines.',
  ),
  images: flag(
    true,
    'Whether the model reads images. With `false` the agents take none: their cards leave the types of images out.',
  ),
  windowTokens,
  maxRetries: count(
    10,
    'Retries after an overload. The waits grow to a minute, and end with the time of the task. After a lost connection, and with a fallback to ask, there are at most 3.',
    { min: 0, max: 20 },
  ),
  timeoutSeconds: seconds(
    300,
    'The longest wait for the model server to send something, before and during its answer.',
  ),
});
