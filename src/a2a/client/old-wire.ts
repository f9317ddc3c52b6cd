import { setImmediate as nextTurn } from 'node:timers/promises';
import { isJsonObject, mapMembers, objectIn, parseObject } from '../../core/json.js';
import type { Json, JsonObject } from '../../core/json.js';
import { SCHEMA_PARTS } from '../translate/old-parts.js';

/** VoltAgent writes this character before the data of each event. Valid JSON holds no raw control characters. */
const RECORD_SEPARATOR = '\u001e';
/** A longer line is passed on unchanged. */
const MAX_LINE = 8 * 1024 * 1024;

/** The members of 1.0 for the kinds of 0.3. */
const MEMBERS = new Map<unknown, string>(
  Object.entries({ 'status-update': 'statusUpdate', 'artifact-update': 'artifactUpdate' }),
);

/** Wraps `fetch` for servers of A2A 0.x over JSON-RPC: adds the `kind` that some leave out of their results. */
export function fetchForVersion03(send: typeof fetch): typeof fetch {
  return fetchRepaired(send, (result) => {
    const kind = result['kind'] === undefined ? kindOf(result) : undefined;
    return kind === undefined ? result : { ...result, kind };
  });
}

/** Wraps `fetch` for servers of A2A 1.0 over JSON-RPC: LangGraph writes the events of its streams as 0.3 does. */
export function fetchForVersion10(send: typeof fetch): typeof fetch {
  return fetchRepaired(send, withMember);
}

/** As `fetchForVersion10`, for LangGraph: it also reads and writes files as 0.3 does. */
export function fetchForLangGraph(send: typeof fetch): typeof fetch {
  const repaired = fetchRepaired(send, (result) => withParts(withMember(result), fromOldFile) as JsonObject);
  return (input, init) => {
    const { body } = init ?? {};
    if (typeof body !== 'string' || !/"(?:raw|url)":/.test(body)) return repaired(input, init);
    const request = withParts(JSON.parse(body) as Json, toOldFile);
    return repaired(input, { ...init, body: JSON.stringify(request) });
  };
}

/** Converts the parts of the messages and artifacts in a value, but nothing inside the parts. */
function withParts(value: Json, convert: (part: JsonObject) => JsonObject): Json {
  if (Array.isArray(value)) return value.map((item: Json) => withParts(item, convert));
  if (!isJsonObject(value)) return value;
  return mapMembers(value, (member = null, name) =>
    name === 'parts' && Array.isArray(member)
      ? member.map((part: Json) => (isJsonObject(part) ? convert(part) : part))
      : withParts(member, convert),
  );
}

function toOldFile(part: JsonObject): JsonObject {
  return part['raw'] === undefined && part['url'] === undefined ? part : SCHEMA_PARTS.to(part);
}

function fromOldFile(part: JsonObject): JsonObject {
  return part['kind'] === 'file' && isJsonObject(part['file']) ? objectIn(SCHEMA_PARTS.from(part)) : part;
}

function fetchRepaired(send: typeof fetch, repair: (result: JsonObject) => JsonObject): typeof fetch {
  const repaired = (text: string): string => repairResult(text, repair);
  return async (input, init) => {
    const response = await send(input, init);
    const type = response.headers.get('content-type') ?? '';
    if (!response.body || !response.ok) return response;
    const facts = { status: response.status, headers: response.headers };
    if (!type.startsWith('text/event-stream')) return new Response(repaired(await response.text()), facts);
    const body = response.body
      .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
      .pipeThrough(eachLine((line) => (line.startsWith('data:') ? `data: ${repaired(line.slice(5))}` : line)))
      .pipeThrough(new TextEncoderStream());
    return new Response(body, facts);
  };
}

function eachLine(convert: (line: string) => string): TransformStream<string, string> {
  let rest = '';
  return new TransformStream({
    async transform(chunk, controller) {
      const lines = (rest + chunk.replaceAll(RECORD_SEPARATOR, '')).split('\n');
      rest = lines.pop() ?? '';
      // Enqueues all lines of a chunk at once: a chunk may hold thousands, and each `enqueue` costs several event-loop turns.
      controller.enqueue(lines.map((line) => `${convert(line)}\n`).join(''));
      if (rest.length > MAX_LINE) {
        controller.enqueue(rest);
        rest = '';
      }
      // Lets other work run first: the next chunk may be waiting already.
      await nextTurn();
    },
    flush(controller) {
      if (rest !== '') controller.enqueue(convert(rest));
    },
  });
}

/** Repairs the result in the text of a JSON-RPC response. Returns other texts unchanged. */
function repairResult(text: string, repair: (result: JsonObject) => JsonObject): string {
  // A failed parse costs 10 µs: a chunk with thousands of lines that are not JSON would block the event loop.
  if (!text.includes('"result"')) return text;
  const response = parseObject(text);
  const result = response?.['result'];
  if (!isJsonObject(result)) return text;
  const fixed = repair(result);
  return fixed === result ? text : JSON.stringify({ ...response, result: fixed });
}

function withMember(result: JsonObject): JsonObject {
  const member = MEMBERS.get(result['kind']);
  return member === undefined ? result : { [member]: result };
}

function kindOf(result: JsonObject): string | undefined {
  if ('artifact' in result) return 'artifact-update';
  if ('status' in result) return 'id' in result ? 'task' : 'status-update';
  return 'parts' in result ? 'message' : undefined;
}
