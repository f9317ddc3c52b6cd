import { createHash } from 'node:crypto';
import { textPart, type Part } from '../core/message.js';
import type { FunctionResult, ModelMessage, ModelRequest } from '../core/model.js';
import { systemText } from './conversation.js';
import type { ModelFailure } from './failure.js';

interface SentRequest {
  readonly request: ModelRequest;
  readonly tuning: Readonly<Partial<Record<'effort' | 'thinking' | 'temperature', unknown>>>;
}

/** A part of requests that servers refuse or require. */
type Rule = readonly [
  /** Fits the parameter that a refusal names, or else its words. A name after "use" is what the server wants instead. */
  said: RegExp,
  /** Whether a request has the part: words of a refusal may name one that it has not. Default: each request has it. */
  isIn?: (sent: SentRequest) => boolean,
  /** The request without the part. Default: its body is written without the part. */
  without?: (request: ModelRequest) => ModelRequest,
];

const hasAnswers = ({ request }: SentRequest) => request.messages.some(({ role }) => role === 'assistant');
const hasImages = ({ request }: SentRequest) => request.messages.some((one) => imagesIn(one).length > 0);
const hasSchema = ({ request }: SentRequest) => request.output !== undefined;

/** The first rule counts that was not learned before. Requests are changed in this order. */
const RULES = {
  /** The server requires thoughts with each message, also of other models. */
  thoughts: [/reasoning_content.*(must be passed|missing|required)|missing.*reasoning_content/is, hasAnswers],
  /** The server requires signatures of thoughts on calls, also of other models. */
  signatures: [/thought_signature.*(missing|required)|missing.*thought_signature/is, hasAnswers],
  /** The server takes no message of the user right after the result of a call. */
  order: [/role ['"`]?user['"`]? after role ['"`]?tool/i],
  images: [
    /(not|n't|no endpoints?)[^.]*\bsupport[^.]*(image|vision)|(image|vision)[^.]*(not|n't) support|unknown variant ['"`]?image|image_url.*(only|not)/i,
    hasImages,
    (request) => withImages(request, () => false),
  ],
  stream_options: [/stream_options|include_usage/],
  max_tokens: [/(?<!\buse ['"`]?)\bmax_tokens\b/i],
  max_completion_tokens: [/(?<!\buse ['"`]?)\bmax_completion_tokens\b/i],
  max_output_tokens: [/(?<!\buse ['"`]?)\bmax_output_tokens\b/i],
  temperature: [/\btemperature\b/i, ({ tuning }) => tuning.temperature !== undefined],
  cache_control: [/cache_control/],
  tool_choice: [/tool_choice/],
  output: [
    /response_format|json_schema|text\.format|output_config\.format|structured output/i,
    hasSchema,
    withSchemaInSystem,
  ],
  strict: [/\bstrict\b/i, hasSchema],
  effort: [
    /reasoning[._]effort|output_config|\beffort\b|^reasoning$/im,
    ({ tuning }) => tuning.effort !== undefined,
  ],
  include: [/^include\b|\binclude\b.*not supported|encrypted content is not supported/im],
  store: [/^store$|['"`]store['"`]/m],
  /** The members of the model's own messages that are sent back. */
  members: [
    /reasoning_(content|details)|\breasoning\b|extra_content|thinking_blocks|provider_specific|messages[.[]\d+.*(extra|additional|unexpected|unknown|unsupported)/is,
    hasAnswers,
    withoutOwnBlocks,
  ],
  thinking: [
    /^thinking\b|thinking\.(type|budget)|budget_tokens|thinking is not supported/im,
    ({ tuning }) => tuning.thinking !== undefined,
  ],
  system: [
    /system (role|message|prompt)s?\b.*not|role ['"`]?system|developer instruction|only user and assistant/i,
    ({ request }) => request.system.length > 0,
    withSystemInMessage,
  ],
  'null-content': [/\bcontent\b.{0,60}(null|none|must be a string|valid string|field required)/is],
} satisfies Readonly<Record<string, Rule>>;

export type Adjustment = keyof typeof RULES;
const PARTS = Object.entries<Rule>(RULES) as [Adjustment, Rule][];

/**
 * The known requirements of some servers of Chat Completions, by vendor, model or host. Each is taken back when the
 * server refuses it.
 */
const KNOWN: readonly (readonly [RegExp, Adjustment])[] = [
  [/deepseek|kimi|moonshot/i, 'thoughts'],
  [/gemini/i, 'signatures'],
  [/mi[sx]tral|magistral|ministral|pixtral|codestral|devstral/i, 'order'],
];

/** Refusals of the model's own blocks in one conversation, such as after a change of the account. */
const OWN_BLOCKS =
  /invalid.*signature|thought.?signature.*(invalid|corrupt|not valid)|encrypted.?content.*(could not|invalid)/is;

/** The refusal of one image, and not of all. */
const BAD_IMAGE =
  /image.*(format|mime|media.?type|dimension|too (large|big|small)|exceed|size|invalid|corrupt|truncated)|(process|decode|read|parse|download|invalid|corrupt|unsupported) .*image/is;

/** The largest output that a server names when it finds that of a request too large. */
const LARGEST_OUTPUT = [
  /supports at most (\d+) (?:completion |output )?tokens/i,
  /> (\d+), which is the maximum allowed number of output tokens/i,
  /max\w*_tokens.*(?:less than or equal to|at most|no more than|range of .*\[\d+,) ?[`'"]?(\d+)/i,
];

/** The most images whose refusal is remembered. */
const MAX_IMAGES = 1_000;

/** A change to requests from a refusal on. */
export interface Change {
  readonly part: string;
  /** Forgets the change, which did not help. */
  undo(): void;
}

/**
 * The parts of requests that one server refuses for one model, learned while this process runs. Each is left out, or
 * replaced, from then on, and the refused request is sent again at once.
 */
export class Adjustments {
  readonly #learned: Set<Adjustment>;
  /** The hashes of images that the server could not read. */
  readonly #images = new Set<string>();
  #largestOutput = Infinity;
  /** The number of lessons so far: a refusal of a request made before the newest change says nothing about that change. */
  changes = 0;

  constructor(id: string, baseUrl: string) {
    const name = `${id} ${URL.parse(baseUrl)?.hostname}`;
    this.#learned = new Set(KNOWN.flatMap(([pattern, one]) => (pattern.test(name) ? [one] : [])));
  }

  has(adjustment: Adjustment): boolean {
    const isOfMembers = adjustment === 'thoughts' || adjustment === 'signatures';
    return this.#learned.has(adjustment) && !(isOfMembers && this.#learned.has('members'));
  }

  /** Learns from the refusal of `request`. Returns undefined when nothing can be changed. */
  learn({ details: { refused } }: ModelFailure, sent: SentRequest): Change | undefined {
    if (refused === undefined) return undefined;
    const { param, said } = refused;
    const change =
      this.#learnLimit(said, sent.request) ??
      (BAD_IMAGE.test(said) ? this.#learnImage(sent.request) : undefined) ??
      this.#learnRule(param, sent) ??
      this.#learnRule(said, sent);
    if (change) this.changes += 1;
    return change;
  }

  /** Whether the refusal is about the blocks that the model wrote earlier in this conversation. */
  refusesOwnBlocks({ details: { refused } }: ModelFailure): boolean {
    return refused !== undefined && OWN_BLOCKS.test(refused.said);
  }

  /** The request without what the server refuses. */
  fit(request: ModelRequest): ModelRequest {
    let fit: ModelRequest = { ...request, maxTokens: Math.min(request.maxTokens, this.#largestOutput) };
    for (const [part, [, , without]] of PARTS) if (without && this.has(part)) fit = without(fit);
    return this.#images.size === 0 ? fit : withImages(fit, (image) => !this.#images.has(hashOf(image)));
  }

  #learnRule(words: string, sent: SentRequest): Change | undefined {
    const isMeant = ([part, [said, isIn = () => true]]: (typeof PARTS)[number]): boolean =>
      !this.#learned.has(part) && said.test(words) && isIn(sent);
    const [part] = PARTS.find(isMeant) ?? [];
    if (!part) return undefined;
    this.#learned.add(part);
    return { part, undo: () => this.#learned.delete(part) };
  }

  #learnLimit(said: string, { maxTokens }: ModelRequest): Change | undefined {
    const limit = Number(LARGEST_OUTPUT.map((pattern) => pattern.exec(said)?.[1]).find(Boolean));
    if (!Number.isSafeInteger(limit) || limit < 1 || limit >= Math.min(maxTokens, this.#largestOutput))
      return undefined;
    const before = this.#largestOutput;
    this.#largestOutput = limit;
    return { part: `at most ${limit} tokens of output`, undo: () => (this.#largestOutput = before) };
  }

  /** Leaves out the images of the newest message that has some: those before it were accepted. */
  #learnImage({ messages }: ModelRequest): Change | undefined {
    const isNew = (hash: string): boolean => !this.#images.has(hash);
    const newest = messages
      .map((message) => imagesIn(message).map(hashOf).filter(isNew))
      .findLast((hashes) => hashes.length > 0);
    if (!newest || this.#images.size + newest.length > MAX_IMAGES) return undefined;
    for (const hash of newest) this.#images.add(hash);
    return { part: 'an image', undo: () => newest.forEach((hash) => this.#images.delete(hash)) };
  }
}

/** The request without the blocks of the model's own that only its vendor understands. */
export function withoutOwnBlocks(request: ModelRequest): ModelRequest {
  const messages = request.messages.map((message) =>
    message.role === 'assistant'
      ? { ...message, content: message.content.filter(({ type }) => type !== 'opaque') }
      : message,
  );
  return { ...request, messages };
}

/** Some servers hold no output to a schema: the instruction asks for it. */
function withSchemaInSystem({ output, ...request }: ModelRequest): ModelRequest {
  if (!output) return request;
  const text = `Answer with one JSON object of this JSON Schema, and nothing else:\n${JSON.stringify(output)}`;
  return { ...request, system: [...request.system, { text, stable: true }] };
}

/** Some models have no role for an instruction: it begins the first message of the user. */
function withSystemInMessage({ system, messages, ...request }: ModelRequest): ModelRequest {
  const text = systemText(system);
  const first = messages.findIndex(({ role }) => role === 'user');
  const changed = messages.map((message, at) =>
    at === first && message.role === 'user'
      ? { ...message, parts: [textPart(text), ...message.parts] }
      : message,
  );
  return { ...request, system: [], messages: changed };
}

type Image = Extract<Part, { bytes: string }>;

const isImage = (part: Part): part is Image =>
  'bytes' in part && (part.mediaType ?? 'image/').startsWith('image/');

function imagesIn(message: ModelMessage): readonly Image[] {
  if (message.role === 'user') return message.parts.filter(isImage);
  if (message.role !== 'results') return [];
  return message.results.flatMap(({ images = [] }) => images.filter(isImage));
}

const hashOf = ({ bytes }: Image): string => createHash('sha256').update(bytes).digest('base64url');

/** Replaces the images that are not kept by a line of text. */
function withImages(request: ModelRequest, isKept: (image: Image) => boolean): ModelRequest {
  const isShown = (part: Part): boolean => !isImage(part) || isKept(part);
  const ofResult = (result: FunctionResult): FunctionResult => {
    const images = result.images?.filter(isShown);
    if (images?.length === result.images?.length) return result;
    return { ...result, content: `${result.content}\n${LEFT_OUT}`, images: images! };
  };
  const messages = request.messages.map((message): ModelMessage => {
    if (message.role === 'results') return { ...message, results: message.results.map(ofResult) };
    if (message.role === 'assistant') return message;
    return { ...message, parts: message.parts.map((part) => (isShown(part) ? part : textPart(LEFT_OUT))) };
  });
  return { ...request, messages };
}

const LEFT_OUT = '[An image is left out here: the model server refused it.]';
