import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { JsonObject } from '../../src/core/json.js';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  /** The body as received. */
  readonly text: string;
  readonly body: JsonObject;
  readonly path: string;
}

/** The response to a delivery: a status, perhaps with headers, or no response at all. */
export type DeliveryResponse =
  number | { readonly status: number; readonly headers: Record<string, string> } | 'silence';

/** A webhook on loopback that records its deliveries. */
export class PushReceiver implements AsyncDisposable {
  readonly got: Received[] = [];
  readonly url: string;
  /** The number of open requests, and the most there were at once. */
  open = 0;
  mostOpen = 0;
  /** Called for each delivery, in their order. */
  answer: (received: Received, number: number) => DeliveryResponse | Promise<DeliveryResponse> = () => 200;
  readonly #server: ReturnType<typeof createServer>;
  #news = Promise.withResolvers<void>();

  static async open(port = 0): Promise<PushReceiver> {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new PushReceiver(server);
  }

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    server.on('request', (request, response) => {
      this.open += 1;
      this.mostOpen = Math.max(this.mostOpen, this.open);
      response.once('close', () => (this.open -= 1));
      void text(request).then(async (raw) => {
        const { headers, url = '' } = request;
        const received = { headers, text: raw, body: JSON.parse(raw) as JsonObject, path: url };
        this.got.push(received);
        const answer = await this.answer(received, this.got.length);
        if (answer === 'silence') {
          this.#tell();
          return;
        }
        if (typeof answer === 'number') response.writeHead(answer).end();
        else response.writeHead(answer.status, answer.headers).end();
        this.#tell();
      });
    });
  }

  /** Resolves once `enough` returns true; called after each delivery. */
  async until(enough: (got: readonly Received[]) => boolean, what = 'a delivery'): Promise<void> {
    const late = setTimeout(
      () => this.#news.reject(new Error(`the receiver waited in vain for ${what}`)),
      100_000,
    );
    try {
      while (!enough(this.got)) await this.#news.promise;
    } finally {
      clearTimeout(late);
    }
  }

  untilEnd(): Promise<void> {
    return this.until(
      (got) => states(got).some((state) => /COMPLETED|FAILED|CANCELED|REJECTED/.test(state)),
      'the end',
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}

/** The states in the status updates, in order. */
export function states(got: readonly Received[]): readonly string[] {
  return got.flatMap(({ body }) => {
    const update = body['statusUpdate'] as { readonly status?: { readonly state?: string } } | undefined;
    return update?.status?.state ? [update.status.state] : [];
  });
}

/** The text of the artifacts, as a client assembles it. */
export function answerText(got: readonly Received[]): string {
  let answer = '';
  for (const { body } of got) {
    const update = body['artifactUpdate'] as
      | {
          readonly append?: boolean;
          readonly artifact: { readonly parts: readonly { readonly text?: string }[] };
        }
      | undefined;
    if (!update) continue;
    const said = update.artifact.parts.map(({ text: piece }) => piece ?? '').join('');
    answer = update.append ? answer + said : said;
  }
  return answer;
}

/** The numbers of the events, in the order of their arrival. */
export function numbers(got: readonly Received[]): readonly number[] {
  return got.map(({ body }) => {
    const [payload] = Object.values(body) as {
      readonly metadata: Record<string, { readonly seq: number }>;
    }[];
    return payload!.metadata['urn:lango:a2a:cursor:v1']!.seq;
  });
}
