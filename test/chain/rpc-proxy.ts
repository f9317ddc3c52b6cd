import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** The fate of a call: passed on, or one of the ways in which a server fails. */
export type Fate =
  | 'pass'
  | 'hang'
  | 'drop'
  | 'garbage'
  /** The call is passed on, and its response is lost. */
  | 'swallow'
  | { readonly error: string; readonly code?: number }
  | { readonly result: unknown };

/** A proxy between the server and the chain that decides the fate of each call by its method. */
export class RpcProxy implements AsyncDisposable {
  readonly url: string;
  readonly methods: string[] = [];
  fate: (method: string, params: readonly unknown[]) => Fate | Promise<Fate> = () => 'pass';
  readonly #server: Server;

  static async open(chainUrl: string): Promise<RpcProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new RpcProxy(server, chainUrl);
  }

  private constructor(server: Server, chainUrl: string) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => {
      void text(request).then((body) => this.#answer(body, { response, chainUrl }));
    });
  }

  async #answer(
    body: string,
    { response, chainUrl }: { response: ServerResponse; chainUrl: string },
  ): Promise<void> {
    const call = JSON.parse(body) as {
      readonly id: number;
      readonly method: string;
      readonly params?: unknown[];
    };
    this.methods.push(call.method);
    const fate = await this.fate(call.method, call.params ?? []);
    const say = (answer: unknown): void => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer));
    };
    if (fate === 'hang') return;
    if (fate === 'drop') return void response.destroy();
    if (fate === 'garbage') return void response.end('<html>it works</html>');
    if (typeof fate === 'object') {
      const { id } = call;
      return say(
        'error' in fate
          ? { jsonrpc: '2.0', id, error: { code: fate.code ?? -32_000, message: fate.error } }
          : { jsonrpc: '2.0', id, result: fate.result },
      );
    }
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(chainUrl, {
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.timeout(100_000),
    });
    const result: unknown = await answer.json();
    if (fate === 'swallow') response.destroy();
    else say(result);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
