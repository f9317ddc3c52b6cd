import { once } from 'node:events';
import { createServer, request as send, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

export interface Proxied {
  /** "POST http://model.invalid/v1/chat/completions" or "CONNECT model.invalid:443". */
  readonly line: string;
  /** The header Proxy-Authorization, decoded. */
  readonly login: string | undefined;
}

/** An HTTP proxy on this machine. It reaches every name at the port of `target`, whatever the name is. */
export class RecordingProxy implements AsyncDisposable {
  readonly seen: Proxied[] = [];
  readonly host: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  static async open({ target, refuses }: { target: number; refuses?: number }): Promise<RecordingProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new RecordingProxy(server, target, refuses);
  }

  private constructor(server: Server, target: number, refuses: number | undefined) {
    this.#server = server;
    this.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const note = (line: string, header: string | undefined): void => {
      const login = header && Buffer.from(header.replace('Basic ', ''), 'base64').toString();
      this.seen.push({ line, login });
    };
    server.on('connection', (socket: Socket) => this.#sockets.add(socket));
    server.on('request', (request, response) => {
      const { method = '', url = '', headers } = request;
      note(`${method} ${url}`, headers['proxy-authorization']);
      if (refuses) return void response.writeHead(refuses).end('no');
      const { pathname, search } = new URL(url);
      const { 'proxy-authorization': _, ...others } = headers;
      const onward = send({
        host: '127.0.0.1',
        port: target,
        method,
        path: pathname + search,
        headers: others,
      });
      onward.on('response', (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      onward.on('error', () => response.destroy());
      request.pipe(onward);
    });
    server.on('connect', ({ url = '', headers }, socket) => {
      note(`CONNECT ${url}`, headers['proxy-authorization']);
      socket.on('error', () => {});
      if (refuses) return void socket.end(`HTTP/1.1 ${refuses} No\r\n\r\n`);
      const onward = connect(target, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        onward.pipe(socket).pipe(onward);
      });
      onward.on('error', () => socket.destroy());
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
