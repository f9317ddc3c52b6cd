import { createInterface } from 'node:readline';
import { adviceText, errorText, isLangoError } from '../core/errors.js';
import { mediaTypeOf } from '../core/http.js';
import { isJsonObject, objectIn, parseObject, type Json, type JsonObject } from '../core/json.js';
import { readEvents } from '../core/server-events.js';
import { connect, type Call, type ConnectionFlags } from './connection.js';
import { EXIT } from '../terminal/exit.js';

const SERVER_ERROR = -32000;
const PARSE_ERROR = -32700;
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const BROKEN = 'The connection to the server broke. Call again with the same messageId, or with the taskId.';

/**
 * `lango mcp serve`: carries the MCP messages of standard input to the server's `/mcp`, and responses to standard output.
 * Each message looks for the server anew, so the server may start later, stop and come back.
 */
export async function serveMcp(call: Call<ConnectionFlags>): Promise<number> {
  const bridge = new Bridge(call);
  for await (const line of createInterface({ input: process.stdin }))
    if (line.trim() !== '') bridge.take(line);
  bridge.close();
  return EXIT.ok;
}

class Bridge {
  readonly #call: Call<ConnectionFlags>;
  /** The requests that have no response yet, by the JSON text of their id. */
  readonly #open = new Map<string, AbortController>();
  /** The version of the protocol: clients of versions before 2026 name it once, in their first request. */
  #version: string | undefined;

  constructor(call: Call<ConnectionFlags>) {
    this.#call = call;
  }

  take(line: string): void {
    const message = parseObject(line);
    if (message === undefined) {
      this.#print(errorOf(null, PARSE_ERROR, 'A message must be one JSON object in one line.'));
      return;
    }
    const { id, method, params } = message;
    if (method === 'notifications/cancelled' && isJsonObject(params))
      this.#open.get(JSON.stringify(params['requestId']))?.abort();
    else if (typeof method === 'string') void this.#forward(message, id);
  }

  /** Aborts the open requests, which cancels their calls. */
  close(): void {
    for (const leaving of this.#open.values()) leaving.abort();
  }

  /** Responds to a request exactly once, unless it was canceled. Never rejects. */
  async #forward(message: JsonObject, id: Json | undefined): Promise<void> {
    const leaving = new AbortController();
    const key = JSON.stringify(id);
    if (id !== undefined) this.#open.set(key, leaving);
    let hasResponse = false;
    try {
      for await (const response of this.#ask(message, leaving.signal)) {
        const agreed = objectIn(response['result'])['protocolVersion'];
        if (message['method'] === 'initialize' && typeof agreed === 'string') this.#version = agreed;
        hasResponse ||= JSON.stringify(response['id']) === key;
        this.#print(response);
      }
      if (!hasResponse && id !== undefined) this.#print(errorOf(id, SERVER_ERROR, BROKEN));
    } catch (error) {
      if (id !== undefined && !hasResponse && !leaving.signal.aborted)
        this.#print(errorOf(id, SERVER_ERROR, isLangoError(error) ? adviceText(error) : errorText(error)));
    } finally {
      this.#open.delete(key);
    }
  }

  async *#ask(message: JsonObject, signal: AbortSignal): AsyncGenerator<JsonObject> {
    const connection = await connect(this.#call);
    const response = await connection.fetch(`${connection.url}/mcp`, {
      method: 'POST',
      headers: this.#headersOf(message),
      body: JSON.stringify(message),
      signal,
    });
    if (mediaTypeOf(response) === 'text/event-stream') {
      for await (const { data } of readEvents(response.body!)) {
        const message = parseObject(data);
        if (message) yield message;
      }
      return;
    }
    const body = parseObject(await response.text());
    if (body?.['jsonrpc'] !== undefined) yield body;
    else if (!response.ok) throw new Error(reasonOf(response.status, body));
  }

  /** Proxies read these headers; since 2026-07-28 they must agree with the message. */
  #headersOf({ method, params }: JsonObject): Record<string, string> {
    const { _meta: meta, name } = objectIn(params);
    const own = objectIn(meta)[VERSION_KEY];
    const version = typeof own === 'string' ? own : this.#version;
    return {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'lango-cancel-on-close': 'true',
      ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
      ...(typeof method === 'string' ? { 'mcp-method': method } : {}),
      ...(typeof name === 'string' ? { 'mcp-name': encodeURI(name) } : {}),
    };
  }

  #print(message: JsonObject): void {
    this.#call.terminal.print(JSON.stringify(message));
  }
}

function reasonOf(status: number, body: JsonObject | undefined): string {
  if (status === 404) return 'The server offers no MCP tools. Set mcp.serve to true in its configuration.';
  const reason = objectIn(body?.['error'])['message'];
  return typeof reason === 'string' ? reason : `The server responded with HTTP ${status}.`;
}

function errorOf(id: Json, code: number, message: string): JsonObject {
  return { jsonrpc: '2.0', id, error: { code, message } };
}
