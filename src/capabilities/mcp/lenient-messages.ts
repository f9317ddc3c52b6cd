import type { Transport } from '@modelcontextprotocol/client';
import { errorText, LangoError } from '../../core/errors.js';
import { assertJsonValue, isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import { BASE64 } from '../../core/message.js';
import { shorten } from '../../core/text.js';

/** The functions that read a response recurse. */
export const JSON_LIMITS = { depth: 64, keys: 10_000 };
const SHOWN_CHARACTERS = 4_000;
const SHOWN_NAME = 100;
const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

/**
 * Makes what a server sends readable for the library, which would refuse the whole list for one bad definition, and the
 * whole result for one block that it does not know. Each definition and block is judged alone: a bad definition is left
 * out with a warning, and an unknown block becomes text.
 */
export class LenientMessages {
  readonly #warn: (text: string) => void;
  readonly #warned = new Set<string>();
  /** The definitions of the pages that were read since `begin`. */
  #pages: JsonObject[] = [];

  constructor(warn: (text: string) => void) {
    this.#warn = warn;
  }

  /** Reads every message of this transport. Call it before the transport is connected. */
  attach(transport: Transport): void {
    let handler: Transport['onmessage'];
    Object.defineProperty(transport, 'onmessage', {
      get: () => handler,
      set: (next: Transport['onmessage']) => {
        handler = next && ((message, extra) => next(this.read(message), extra));
      },
    });
  }

  beginList(): void {
    this.#pages = [];
  }

  /** The definitions that were read, for a list whose pages have no end. */
  get listed(): readonly JsonObject[] {
    return [...new Map(this.#pages.map((one) => [one['name'], one])).values()];
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
    this.#pages.push(...tools);
    const { nextCursor, ttlMs, cacheScope } = result;
    return {
      ...result,
      tools,
      nextCursor: typeof nextCursor === 'string' ? nextCursor : undefined,
      ttlMs: Number.isSafeInteger(ttlMs) && (ttlMs as number) >= 0 ? ttlMs : 0,
      cacheScope: cacheScope === 'public' ? cacheScope : 'private',
    };
  }

  #definition(given: Json): readonly JsonObject[] {
    const name = isJsonObject(given) && typeof given['name'] === 'string' ? given['name'] : '';
    try {
      return [definitionOf(given)];
    } catch (error) {
      const text = `a definition of a tool is left out (${shorten(name, SHOWN_NAME) || 'without a name'}): ${errorText(error)}`;
      if (!this.#warned.has(text)) this.#warn(text);
      this.#warned.add(text);
      return [];
    }
  }
}

/** The members of a definition that are used. The schema of results is not: it would only refuse them. */
function definitionOf(given: Json): JsonObject {
  assertJsonValue(given, JSON_LIMITS);
  if (!isJsonObject(given) || typeof given['name'] !== 'string' || given['name'] === '')
    throw new LangoError('tool', 'it has no name');
  const { name, title, description, inputSchema = {}, annotations } = given;
  if (!isJsonObject(inputSchema)) throw new LangoError('tool', 'its inputSchema is no object');
  const { type, properties, required } = inputSchema;
  if (type !== undefined && ![type].flat().includes('object'))
    throw new LangoError('tool', 'its inputSchema describes no object');
  return {
    name,
    ...(typeof title === 'string' && { title }),
    ...(typeof description === 'string' && { description }),
    inputSchema: {
      ...inputSchema,
      type: 'object',
      properties: isJsonObject(properties) ? properties : undefined,
      required: Array.isArray(required) ? required.filter((one) => typeof one === 'string') : undefined,
    },
    ...(isJsonObject(annotations) && { annotations: annotationsOf(annotations) }),
  };
}

function annotationsOf(given: JsonObject): JsonObject {
  const known = HINTS.flatMap((key) => (typeof given[key] === 'boolean' ? [[key, given[key]]] : []));
  const { title } = given;
  return { ...(typeof title === 'string' && { title }), ...(Object.fromEntries(known) as JsonObject) };
}

function callResult(result: JsonObject): JsonObject {
  const { content = [], structuredContent: data, isError } = result;
  const blocks = (Array.isArray(content) ? content : [content]) as readonly Json[];
  const isKept = isJsonObject(data) && isKeepable(data);
  // Old versions of the protocol take an object only.
  const asText = data === undefined || data === null || isKept ? [] : [textBlock(shown(data))];
  return {
    ...result,
    content: [...blocks.filter((one) => one !== null).map(blockOf), ...asText],
    structuredContent: isKept ? data : undefined,
    isError: isError === undefined ? undefined : isError === true || isError === 'true',
  };
}

function isKeepable(value: Json): boolean {
  try {
    assertJsonValue(value, JSON_LIMITS);
    return true;
  } catch {
    return false;
  }
}

function shown(value: Json): string {
  if (!isKeepable(value)) return '[content that is nested too deeply was left out]';
  return shorten(typeof value === 'string' ? value : JSON.stringify(value), SHOWN_CHARACTERS);
}

const textBlock = (text: string): JsonObject => ({ type: 'text', text });

/** The block with the members that it needs; any other block as text. */
function blockOf(given: Json): JsonObject {
  if (typeof given === 'string') return textBlock(given);
  const known = isJsonObject(given) ? knownBlock(given) : undefined;
  return known ?? textBlock(`[content of a kind that is not known here: ${shown(given)}]`);
}

function knownBlock({ type, ...given }: JsonObject): JsonObject | undefined {
  const { text, data, uri, name, mimeType, resource } = given;
  const media = typeof mimeType === 'string' ? { mimeType } : {};
  switch (type) {
    case 'text':
      return typeof text === 'string' ? textBlock(text) : undefined;
    case 'image':
    case 'audio': {
      const bytes = base64In(data);
      return bytes === undefined
        ? undefined
        : { type, data: bytes, mimeType: 'application/octet-stream', ...media };
    }
    case 'resource_link':
      if (typeof uri !== 'string') return undefined;
      return { type, uri, name: typeof name === 'string' ? name : uri };
    case 'resource':
      return isJsonObject(resource) ? resourceBlock(resource, type) : undefined;
    default:
      return undefined;
  }
}

function resourceBlock(resource: JsonObject, type: string): JsonObject | undefined {
  const { uri, text, blob, mimeType } = resource;
  const about = {
    uri: typeof uri === 'string' ? uri : 'unnamed',
    ...(typeof mimeType === 'string' && { mimeType }),
  };
  if (typeof text === 'string') return { type, resource: { ...about, text } };
  const bytes = base64In(blob);
  return bytes === undefined ? undefined : { type, resource: { ...about, blob: bytes } };
}

/** Base64 text without white space and without the start of a data URL, which servers send by mistake. */
function base64In(given: Json | undefined): string | undefined {
  if (typeof given !== 'string') return undefined;
  const bytes = given
    .replace(/^data:[^,]{0,200},/, '')
    .replace(/\s+/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/');
  return BASE64.test(bytes) && bytes.replace(/=+$/, '').length % 4 !== 1 ? bytes : undefined;
}
