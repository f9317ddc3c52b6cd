import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';

const EVENT_STREAM = 'text/event-stream';
/** VoltAgent writes it before the data of each event. JSON holds no raw control characters. */
const RECORD_SEPARATOR = '\u001e';
/** A longer line is passed on unread. */
const MAX_LINE = 8 * 1024 * 1024;

/** How 1.0 names the member that holds what 0.3 calls by its kind. */
const MEMBERS: ReadonlyMap<unknown, string> = new Map([
  ['status-update', 'statusUpdate'],
  ['artifact-update', 'artifactUpdate'],
]);

/** Wraps `fetch` for servers of A2A 0.x over JSON-RPC: adds the `kind` that some leave out of their results. */
export function fetchOfOld(send: typeof fetch): typeof fetch {
  return fetchMended(send, withKind);
}

/** Wraps `fetch` for servers of A2A 1.0 over JSON-RPC: LangGraph writes the events of its streams as 0.3 does. */
export function fetchOfNew(send: typeof fetch): typeof fetch {
  return fetchMended(send, withMember);
}

function fetchMended(send: typeof fetch, mend: (result: JsonObject) => JsonObject): typeof fetch {
  const withMended = (text: string): string => mendResult(text, mend);
  return async (input, init) => {
    const response = await send(input, init);
    const type = response.headers.get('content-type') ?? '';
    if (!response.body || !response.ok) return response;
    const facts = { status: response.status, headers: response.headers };
    if (!type.startsWith(EVENT_STREAM)) return new Response(withMended(await response.text()), facts);
    const body = response.body
      .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
      .pipeThrough(
        eachLine((line) => (line.startsWith('data:') ? `data: ${withMended(line.slice(5))}` : line)),
      )
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
      // One text for all lines of a chunk: a chunk may hold thousands, and each text takes several turns of the streams.
      controller.enqueue(lines.map((line) => `${convert(line)}\n`).join(''));
      if (rest.length > MAX_LINE) {
        controller.enqueue(rest);
        rest = '';
      }
      // The next chunk may be here already; other work comes before it.
      await nextTurn();
    },
    flush(controller) {
      if (rest !== '') controller.enqueue(convert(rest));
    },
  });
}

/** Returns the JSON-RPC response with its result mended; other texts unchanged. */
function mendResult(text: string, mend: (result: JsonObject) => JsonObject): string {
  // Parsing what is no JSON costs 10 µs: a chunk of thousands of such lines would hold the event loop.
  if (!text.includes('"result"')) return text;
  let response: unknown;
  try {
    response = JSON.parse(text);
  } catch {
    return text;
  }
  const result = isJsonObject(response) ? response['result'] : undefined;
  if (!isJsonObject(response) || !isJsonObject(result)) return text;
  const mended = mend(result);
  return mended === result ? text : JSON.stringify({ ...response, result: mended });
}

function withKind(result: JsonObject): JsonObject {
  const kind = result['kind'] === undefined ? kindOf(result) : undefined;
  return kind === undefined ? result : { ...result, kind };
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
