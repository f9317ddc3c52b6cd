import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  Metadata,
  type MethodDefinition,
  type ServerUnaryCall,
  type ServerWritableStream,
  type UntypedServiceImplementation,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { assertJsonValue } from '../../../core/json.js';
import type { Logger } from '../../../core/logger.js';
import { toCallContext, type Call } from '../../translate/call.js';
import type { Dialect } from '../dialect.js';
import type { PublishedAgent, Request, StreamOperation, UnaryOperation } from '../operations.js';
import {
  EXTENSIONS_PARAMETERS,
  VERSION_PARAMETER,
  activatedExtensions,
  versionIn,
} from '../service-parameters.js';
import { stallMs, type StreamLimits, type StreamSlots } from '../stream-slots.js';
import { EventWriter, type UnreadResponses } from './flow-control.js';
import { grpcCall, textIn, type AnyCall, type Gate } from './gate.js';
import type { GrpcService, GrpcMethod } from './methods.js';
import { NoSuchAgent, statusOf } from './status.js';

const LARGE_BYTES = 64 * 1024;

type UnaryCall = ServerUnaryCall<Buffer, Buffer>;
type StreamCall = ServerWritableStream<Buffer, Buffer>;

export interface ServiceOptions {
  /** By name; read at each call. */
  readonly agents: ReadonlyMap<string, PublishedAgent>;
  /** The agent for clients of 0.3, which cannot name one. */
  readonly root: string;
  readonly gate: Gate;
  readonly limits: StreamLimits & { readonly jsonDepth: number; readonly jsonKeys: number };
  readonly slots: StreamSlots;
  /** The unread responses of all versions of the protocol together. */
  readonly unread: UnreadResponses;
  readonly closing: AbortSignal;
  readonly logger: Logger;
}

/** Makes one version of the protocol's service, over the same operations as the other bindings. */
export function createService(given: GrpcService, options: ServiceOptions) {
  const service = new A2aService(given.dialect, options);
  const definition: Record<string, MethodDefinition<Buffer, Buffer>> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const method of given.methods) {
    const { operation } = method;
    definition[method.path] = rawDefinition(method.path, operation.kind === 'stream');
    implementation[method.path] =
      operation.kind === 'stream'
        ? (call: StreamCall) => void service.stream(method, operation, call)
        : (call: UnaryCall, callback: sendUnaryData<Buffer>) => {
            service.respond(method, operation, call).then(
              (bytes) => callback(null, bytes),
              (error: unknown) => callback(statusOf(error, { path: method.path, logger: options.logger })),
            );
          };
  }
  return { definition, implementation };
}

/** Leaves messages as bytes: for one that cannot be decoded, the library would send an internal error. */
function rawDefinition(path: string, responseStream: boolean): MethodDefinition<Buffer, Buffer> {
  const same = (bytes: Buffer): Buffer => bytes;
  return {
    path,
    requestStream: false,
    responseStream,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
}

class A2aService {
  readonly #dialect: Dialect;
  readonly #options: ServiceOptions;

  constructor(dialect: Dialect, options: ServiceOptions) {
    this.#dialect = dialect;
    this.#options = options;
  }

  async respond(method: GrpcMethod, operation: UnaryOperation, call: UnaryCall): Promise<Buffer> {
    const request = await this.#open(method, call);
    const { held } = this.#options.gate.admissionOf(call);
    if (!operation.changes) await held.addAnswer();
    const bytes = method.encode(await operation.call(request));
    held.set(bytes.length);
    this.#options.unread.add(call, bytes.length);
    return bytes;
  }

  async stream(method: GrpcMethod, operation: StreamOperation, call: StreamCall): Promise<void> {
    const { slots, limits, closing, logger } = this.#options;
    try {
      const request = await this.#open(method, call);
      const { scope, signal } = request.call;
      const writer = new EventWriter(call, limits);
      await slots.hold(scope, async () => {
        for await (const event of operation.events(request)) {
          this.#options.gate.admissionOf(call).held.set(0);
          await writer.write(method.encodeEvent(event), signal);
        }
        await writer.flush(signal);
      });
      // A plain end would say that the stream is complete, while the client has to resume it.
      if (closing.aborted) throw closing.reason;
      call.end();
    } catch (error) {
      call.emit('error', statusOf(error, { path: method.path, logger }));
      this.#cutLater(call);
    }
  }

  /** The status waits behind unread events, so a reader that stays behind is cut; it can resume by its cursor. */
  #cutLater(call: StreamCall): void {
    const { gate, limits } = this.#options;
    const timer = setTimeout(() => gate.admissionOf(call).cut(), stallMs(limits)).unref();
    call.once('cancelled', () => clearTimeout(timer));
  }

  /** Checks the protocol version, then the parameters' size, then the agent. */
  async #open(method: GrpcMethod, call: AnyCall): Promise<Request & { readonly call: Call }> {
    const { agents, root, gate, limits, closing } = this.#options;
    const { version } = this.#dialect;
    versionIn(textIn(call.metadata, VERSION_PARAMETER), [version]);
    const { tenant, params } = method.decode(call.request);
    // Decoding and checking a large message each take a while: other work runs in between.
    if (call.request.length > LARGE_BYTES) await nextTurn();
    assertJsonValue(params, { depth: limits.jsonDepth, keys: limits.jsonKeys });
    const name = tenant || root;
    const agent = agents.get(name);
    if (!agent) throw new NoSuchAgent(name);
    this.#acknowledge(call);
    const open = grpcCall(call, { ...gate.admissionOf(call), version, closing });
    return { agent, params, dialect: this.#dialect, context: toCallContext(open), call: open };
  }

  /** Sends the headers of the response: which of the extensions that the client named are in use. */
  #acknowledge(call: AnyCall): void {
    const metadata = new Metadata();
    for (const name of EXTENSIONS_PARAMETERS) {
      const activated = activatedExtensions(textIn(call.metadata, name));
      if (activated !== '') metadata.set(name, activated);
    }
    call.sendMetadata(metadata);
  }
}
