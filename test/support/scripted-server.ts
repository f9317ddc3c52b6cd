import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { JsonObject } from '../../src/core/json.js';

export interface RecordedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
  /** Resolves when the client left before the response was complete. */
  readonly abandoned: Promise<void>;
}

export type Reply = (response: ServerResponse, request: RecordedRequest) => void | Promise<void>;

/** A local HTTP server that plays the given replies, one for each request, and records the requests. */
export class ScriptedServer implements AsyncDisposable {
  readonly requests: RecordedRequest[] = [];
  readonly url: string;
  connections = 0;
  readonly #replies: Reply[] = [];
  #otherwise: Reply | undefined;
  readonly #server: Server;
  readonly #waiting: (() => void)[] = [];

  static async open(): Promise<ScriptedServer> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ScriptedServer(server);
  }

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('connection', () => (this.connections += 1));
    server.on('request', (incoming, response) => {
      const left = Promise.withResolvers<void>();
      response.on('close', () => {
        if (!response.writableFinished) left.resolve();
      });
      void text(incoming).then(async (body) => {
        const request: RecordedRequest = {
          path: incoming.url ?? '',
          headers: incoming.headers,
          body: JSON.parse(body || '{}') as JsonObject,
          abandoned: left.promise,
        };
        this.requests.push(request);
        for (const resolve of this.#waiting.splice(0)) resolve();
        const reply =
          this.#replies.shift() ??
          this.#otherwise ??
          status(418, { error: { message: 'no reply was scripted' } });
        await reply(response, request);
      });
    });
  }

  /** Adds replies to the queue. */
  willReply(...replies: readonly Reply[]): void {
    this.#replies.push(...replies);
  }

  /** Sets the reply to every request without a queued one, for a model that responds by the request. */
  willAlwaysReply(reply: Reply): void {
    this.#otherwise = reply;
  }

  /** Resolves with the request of that number (from 0), once it has arrived. */
  async request(number: number): Promise<RecordedRequest> {
    while (this.requests.length <= number) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return this.requests[number]!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** An HTTP response with a JSON body, or with a text body of the content type given in `headers`. */
export function status(code: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

/** A complete event stream. */
export function events(stream: string): Reply {
  return (response) => {
    startEvents(response).end(stream);
  };
}

/** An event stream that arrives byte by byte. */
export function eventsByByte(stream: string): Reply {
  return async (response) => {
    startEvents(response);
    for (const byte of Buffer.from(stream)) {
      response.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  };
}

/** An event stream whose events arrive one after the other. */
export function eventsApart(stream: string): Reply {
  return async (response) => {
    startEvents(response);
    for (const event of stream.split(/(?<=\n\n)/)) {
      response.write(event);
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  };
}

/** The beginning of an event stream, after which the connection breaks. */
export function cutEvents(stream: string): Reply {
  return (response) => {
    startEvents(response).write(stream, () => setTimeout(() => response.destroy(), 20));
  };
}

/** The beginning of an event stream that then stays silent. */
export function hangingEvents(stream: string): Reply {
  return (response) => {
    startEvents(response).write(stream);
  };
}

/** A connection that is closed without a response. */
export const reset: Reply = (response) => {
  response.destroy();
};

/** No response at all; the connection stays open. */
export const silence: Reply = () => {};

function startEvents(response: ServerResponse): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.flushHeaders();
  return response;
}
