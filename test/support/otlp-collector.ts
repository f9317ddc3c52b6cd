import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { BinaryReader } from '@bufbuild/protobuf/wire';

/** A span as received. Times are nanoseconds since the epoch. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly id: string;
  readonly parent: string;
  readonly name: string;
  readonly kind: number;
  readonly start: bigint;
  readonly end: bigint;
  readonly status: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** The attributes of the span's resource. */
  readonly service: Readonly<Record<string, unknown>>;
}

/** A receiver of OTLP over HTTP, which reads the protobuf of opentelemetry/proto/trace/v1. */
export interface OtlpCollector extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The spans in the order of their arrival, including repeats. */
  readonly spans: CollectedSpan[];
  readonly headers: IncomingHttpHeaders[];
  /** The status of the response to a request. Default: 200. */
  status: (spans: readonly CollectedSpan[]) => number;
  /** Waits until `count` different spans have arrived. */
  until(count: number): Promise<readonly CollectedSpan[]>;
}

export async function openCollector(port = 0): Promise<OtlpCollector> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const spans = decodeRequest(Buffer.concat(chunks));
      const status = collector.status(spans);
      collector.headers.push(request.headers);
      if (status === 200) collector.spans.push(...spans);
      response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const bound = (server.address() as AddressInfo).port;
  const collector: OtlpCollector = {
    ...{ url: `http://127.0.0.1:${bound}/v1/traces`, port: bound, spans: [], headers: [], status: () => 200 },
    async until(count) {
      while (unique(collector.spans).length < count) await sleep(20);
      return unique(collector.spans);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return collector;
}

/** Each span once. Throws for two different spans with one id. */
export function unique(spans: readonly CollectedSpan[]): readonly CollectedSpan[] {
  const byId = new Map<string, CollectedSpan>();
  for (const span of spans) {
    const key = `${span.traceId}/${span.id}`;
    const known = byId.get(key) ?? span;
    if (shown(known) !== shown(span))
      throw new Error(`Two spans have one id: ${shown(known)} ${shown(span)}`);
    byId.set(key, span);
  }
  return [...byId.values()];
}

function shown({ service: _, ...span }: CollectedSpan): string {
  return JSON.stringify(span, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

type Fields = ReadonlyMap<number, readonly unknown[]>;

/** The fields of a message, by number. */
function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, unknown[]>();
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    const type = Number(wire);
    const value =
      type === 2
        ? reader.bytes()
        : type === 1
          ? reader.fixed64()
          : type === 5
            ? reader.fixed32()
            : reader.int64();
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

const messages = (fields: Fields, number: number): readonly Fields[] =>
  (fields.get(number) ?? []).map((bytes) => fieldsOf(bytes as Uint8Array));
const text = (fields: Fields, number: number): string =>
  Buffer.from(first<Uint8Array>(fields, number) ?? []).toString();
const hex = (fields: Fields, number: number): string =>
  Buffer.from(first<Uint8Array>(fields, number) ?? []).toString('hex');
const first = <T>(fields: Fields | undefined, number: number): T | undefined =>
  fields?.get(number)?.[0] as T | undefined;

function decodeRequest(body: Uint8Array): readonly CollectedSpan[] {
  return messages(fieldsOf(body), 1).flatMap((resourceSpans) => {
    const service = attributesOf(messages(resourceSpans, 1)[0]!, 1);
    return messages(resourceSpans, 2)
      .flatMap((scopeSpans) => messages(scopeSpans, 2))
      .map((span) => ({
        ...{ traceId: hex(span, 1), id: hex(span, 2), parent: hex(span, 4), name: text(span, 5), service },
        ...{ kind: Number(first(span, 6)), start: BigInt(first(span, 7)!), end: BigInt(first(span, 8)!) },
        attributes: attributesOf(span, 9),
        status: Number(first(messages(span, 15)[0], 3) ?? 0),
      }));
  });
}

function attributesOf(fields: Fields, number: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(fields, number).map((pair) => [text(pair, 1), valueOf(messages(pair, 2)[0]!)]),
  );
}

/** An AnyValue: a string, a boolean, a whole number, a fraction or a list. */
function valueOf(value: Fields): unknown {
  if (value.has(1)) return text(value, 1);
  if (value.has(2)) return first(value, 2) === 1n;
  if (value.has(3)) return Number(first(value, 3));
  if (value.has(4)) return Buffer.from(new BigUint64Array([BigInt(first(value, 4)!)]).buffer).readDoubleLE();
  return messages(messages(value, 5)[0]!, 1).map(valueOf);
}
