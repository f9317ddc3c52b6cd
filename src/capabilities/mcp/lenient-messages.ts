import { z } from 'zod';
import { errorText } from '../../core/errors.js';
import { assertJsonValue, isJsonObject, isSafeJson, type Json, type JsonObject } from '../../core/json.js';
import { BASE64 } from '../../core/message.js';
import { shorten } from '../../core/text.js';

const SHOWN_CHARACTERS = 4_000;
const SHOWN_NAME = 100;
const MOST_PAGES = 16;

/** A member of another type counts as missing. */
const maybe = <Type extends z.ZodType>(type: Type) => type.optional().catch(undefined);
const text = z.string();
const noName = 'it has no name';
const noObject = 'its inputSchema describes no object';

/** The members of a definition that are used. The schema of results is not: it would only refuse them. */
const definition = z.object(
  {
    name: text.min(1, noName),
    ...{ title: maybe(text), description: maybe(text) },
    inputSchema: z
      .looseObject(
        {
          type: z
            .unknown()
            .optional()
            .refine((type = 'object') => [type].flat().includes('object'), noObject),
          properties: maybe(z.looseObject({})),
          required: maybe(
            z.array(maybe(text)).transform((names) => names.filter((one) => one !== undefined)),
          ),
        },
        'its inputSchema is no object',
      )
      .prefault({})
      .transform((schema) => ({ ...schema, type: 'object' })),
    annotations: maybe(
      z.object({
        title: maybe(text),
        ...{ readOnlyHint: maybe(z.boolean()), destructiveHint: maybe(z.boolean()) },
        ...{ idempotentHint: maybe(z.boolean()), openWorldHint: maybe(z.boolean()) },
      }),
    ),
  },
  noName,
);

const page = z.object({
  nextCursor: maybe(text),
  ttlMs: z.int().min(0).catch(0),
  cacheScope: z.enum(['public', 'private']).catch('private'),
});

/** Base64 text without white space and without the start of a data URL, which servers send by mistake. */
const base64 = text
  .transform((given) => given.replace(/^data:[^,]{0,200},|\s+/g, ''))
  .refine((bytes) => BASE64.test(bytes) && bytes.replace(/=+$/, '').length % 4 !== 1)
  .transform((bytes) => Buffer.from(bytes, 'base64').toString('base64'));

const textBlock = (text: string) => ({ type: 'text', text });
const resource = { uri: text.catch('unnamed'), mimeType: maybe(text) };

const block = z.union([
  text.transform(textBlock),
  z.object({ type: z.literal('text'), text }),
  z.object({
    ...{ type: z.enum(['image', 'audio']), data: base64 },
    mimeType: text.catch('application/octet-stream'),
  }),
  z
    .object({ type: z.literal('resource_link'), uri: text, name: maybe(text) })
    .transform(({ name, ...link }) => ({ ...link, name: name ?? link.uri })),
  z.object({
    type: z.literal('resource'),
    resource: z.union([z.object({ ...resource, text }), z.object({ ...resource, blob: base64 })]),
  }),
]);

/**
 * Makes what a server sends readable for the library, which would refuse the whole list for one bad definition, and the
 * whole result for one block that it does not know. Each definition and block is judged alone: a bad definition is left
 * out with a warning, and an unknown block becomes text.
 */
export class LenientMessages {
  readonly #warn: (text: string) => void;
  readonly #warned = new Set<string>();
  /** The number of pages that were read since `beginList`. */
  #pages = 0;

  constructor(warn: (text: string) => void) {
    this.#warn = warn;
  }

  beginList(): void {
    this.#pages = 0;
  }

  read<Message>(message: Message): Message {
    if (!isJsonObject(message) || !isJsonObject(message['result'])) return message;
    const { result } = message as unknown as { readonly result: JsonObject };
    const { tools, _meta: meta } = result;
    const common = { resultType: 'complete', ...result, _meta: isJsonObject(meta) ? meta : undefined };
    if (Array.isArray(tools)) return { ...message, result: this.#list(common, tools) };
    const isCall = ['content', 'structuredContent', 'isError'].some((key) => key in result);
    return isCall ? { ...message, result: callResult(common) } : message;
  }

  #list(result: JsonObject, given: readonly Json[]): JsonObject {
    const tools = given.flatMap((one) => this.#definition(one));
    // The first pages of a list without an end are enough.
    const end = ++this.#pages >= MOST_PAGES ? { nextCursor: undefined } : {};
    return { ...result, ...page.parse(result), ...end, tools };
  }

  #definition(given: Json): readonly JsonObject[] {
    const name = isJsonObject(given) && typeof given['name'] === 'string' ? given['name'] : '';
    try {
      assertJsonValue(given);
      return [definition.parse(given) as JsonObject];
    } catch (error) {
      const why = error instanceof z.ZodError ? error.issues[0]!.message : errorText(error);
      const text = `a definition of a tool is left out (${shorten(name, SHOWN_NAME) || 'without a name'}): ${why}`;
      if (!this.#warned.has(text)) this.#warn(text);
      this.#warned.add(text);
      return [];
    }
  }
}

function callResult(result: JsonObject): JsonObject {
  const { content = [], structuredContent: data, isError } = result;
  const blocks = (Array.isArray(content) ? content : [content]) as readonly Json[];
  const isKept = isJsonObject(data) && isSafeJson(data);
  // Old versions of the protocol take an object only.
  const asText = data === undefined || data === null || isKept ? [] : [textBlock(shown(data))];
  return {
    ...result,
    content: [...blocks.filter((one) => one !== null).map(blockOf), ...asText],
    structuredContent: isKept ? data : undefined,
    isError: isError === undefined ? undefined : isError === true || isError === 'true',
  };
}

function shown(value: Json): string {
  if (!isSafeJson(value)) return '[content that is nested too deeply was left out]';
  return shorten(typeof value === 'string' ? value : JSON.stringify(value), SHOWN_CHARACTERS);
}

/** The block with the members that it needs; any other block as text. */
const blockOf = (given: Json): JsonObject =>
  block.safeParse(given).data ?? textBlock(`[content of a kind that is not known here: ${shown(given)}]`);
