import type { Readable } from 'node:stream';
import type { Response as NodeResponse } from 'node-fetch';
import { LangoError } from '../core/errors.js';
import type { Patience } from './patience.js';

export interface BodyRules {
  /** `Infinity` for an event stream: then each chunk renews the wait. */
  readonly maxBytes: number;
  readonly explain: (error: unknown) => Error;
  readonly patience: Patience;
}

const STATUS_WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** The web-standard response for what node-fetch gave: same status and headers, the body passed on as it comes. */
export function toWebResponse(answer: NodeResponse, rules: BodyRules): Response {
  const headers = new Headers();
  for (const [name, values] of Object.entries(answer.headers.raw())) {
    for (const value of values) headers.append(name, value);
  }
  const source = answer.body as Readable | null;
  const hasBody = source !== null && !STATUS_WITHOUT_BODY.has(answer.status);
  if (!hasBody) {
    rules.patience.end();
    source?.destroy();
  }
  return new Response(hasBody ? toWebStream(source, rules) : null, {
    status: answer.status,
    statusText: answer.statusText,
    headers,
  });
}

function toWebStream(source: Readable, rules: BodyRules): ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const isEndless = rules.maxBytes === Infinity;
  let size = 0;
  const close = (): void => {
    rules.patience.end();
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
            throw new LangoError('too-large', `The answer is larger than ${rules.maxBytes} bytes.`);
          }
          if (isEndless) rules.patience.renew();
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
