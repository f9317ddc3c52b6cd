import type { JsonObject } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';

const EVENT_STREAM = 'text/event-stream';
/** VoltAgent writes it before the data of each event. JSON holds no raw control characters. */
const RECORD_SEPARATOR = '\u001e';
/** A longer line is passed on unread. */
const MAX_LINE = 8 * 1024 * 1024;

/** Wraps `fetch` for servers of A2A 0.x over JSON-RPC: adds the `kind` that some leave out of their results. */
export function fetchOfOld(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await send(input, init);
    const type = response.headers.get('content-type') ?? '';
    if (!response.body || !response.ok) return response;
    const facts = { status: response.status, headers: response.headers };
    if (!type.startsWith(EVENT_STREAM)) return new Response(withKind(await response.text()), facts);
    const body = response.body
      .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
      .pipeThrough(eachLine((line) => (line.startsWith('data:') ? `data: ${withKind(line.slice(5))}` : line)))
      .pipeThrough(new TextEncoderStream());
    return new Response(body, facts);
  };
}

function eachLine(convert: (line: string) => string): TransformStream<string, string> {
  let rest = '';
  return new TransformStream({
    transform(chunk, controller) {
      const lines = (rest + chunk.replaceAll(RECORD_SEPARATOR, '')).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) controller.enqueue(`${convert(line)}\n`);
      if (rest.length > MAX_LINE) {
        controller.enqueue(rest);
        rest = '';
      }
    },
    flush(controller) {
      if (rest !== '') controller.enqueue(convert(rest));
    },
  });
}

/** Returns the JSON-RPC response with the `kind` of its result; other texts unchanged. */
function withKind(text: string): string {
  let response: unknown;
  try {
    response = JSON.parse(text);
  } catch {
    return text;
  }
  const result = isJsonObject(response) ? response['result'] : undefined;
  if (!isJsonObject(response) || !isJsonObject(result) || result['kind'] !== undefined) return text;
  const kind = kindOf(result);
  return kind === undefined ? text : JSON.stringify({ ...response, result: { ...result, kind } });
}

function kindOf(result: JsonObject): string | undefined {
  if ('artifact' in result) return 'artifact-update';
  if ('status' in result) return 'id' in result ? 'task' : 'status-update';
  return 'parts' in result ? 'message' : undefined;
}
