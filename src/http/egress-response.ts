import type { Readable } from 'node:stream';
import type { Response as NodeResponse } from 'node-fetch';
import { LangoError } from '../core/errors.js';
import type { Deadline } from '../core/time.js';
import type { ValueCount } from './json-scan.js';

export interface BodyRules {
  readonly host: string;
  /** Each chunk of an event stream renews the deadline. */
  readonly isStream: boolean;
  readonly maxBytes: number;
  /** Refuses JSON that would block the event loop. Default: everything is accepted. */
  readonly count?: ValueCount | undefined;
  readonly explain: (error: unknown) => Error;
  readonly deadline: Deadline;
}

const STATUS_WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** Converts a response of node-fetch to a web-standard one with the same status and headers, and streams its body. */
export function toWebResponse(response: NodeResponse, rules: BodyRules): Response {
  const { status, statusText } = response;
  const raw = Object.entries(response.headers.raw());
  const headers = raw.flatMap(([name, values]) => values.map((value): [string, string] => [name, value]));
  const source = response.body as Readable | null;
  const hasBody = source !== null && !STATUS_WITHOUT_BODY.has(status);
  if (!hasBody) {
    rules.deadline.end();
    source?.destroy();
  }
  return new Response(hasBody ? toWebStream(source, rules) : null, { status, statusText, headers });
}

function toWebStream(source: Readable, rules: BodyRules): ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let size = 0;
  const close = (): void => {
    rules.deadline.end();
    source.destroy();
  };
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const next = await chunks.next();
          if (next.done === true) {
            close();
            controller.close();
            return;
          }
          size += next.value.length;
          if (size > rules.maxBytes) {
            const message = `The response of ${rules.host} is larger than ${rules.maxBytes} bytes.`;
            throw new LangoError('too-large', message, { hint: 'Request a smaller part of it.' });
          }
          rules.count?.read(next.value);
          if (rules.isStream) rules.deadline.renew();
          controller.enqueue(new Uint8Array(next.value));
        } catch (error) {
          const reason = rules.explain(error);
          close();
          controller.error(reason);
        }
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  );
}
