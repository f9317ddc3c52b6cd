import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  Metadata,
  type MethodDefinition,
  type Server,
  type UntypedServiceImplementation,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { assertJsonValue } from '../../../core/json.js';
import { toCallContext, type Call } from '../../translate/call.js';
import type { PublishedAgent, Request, StreamOperation, UnaryOperation } from '../operations.js';
import {
  EXTENSIONS_PARAMETERS,
  VERSION_PARAMETER,
  activatedExtensions,
  versionIn,
} from '../service-parameters.js';
import { stallMs, type StreamLimits, type StreamSlots } from '../stream-slots.js';
import { EventWriter, UnreadResponses, type StreamCall, type UnaryCall } from './flow-control.js';
import { grpcCall, textIn, type AnyCall, type Gate, type GateOptions } from './gate.js';
import type { GrpcMethod } from './methods.js';
import { NoSuchAgent, statusOf } from './status.js';

const LARGE_BYTES = 64 * 1024;

export interface ServiceOptions extends Pick<GateOptions, 'closing' | 'logger'> {
  /** By name; read at each call. */
  readonly agents: ReadonlyMap<string, PublishedAgent>;
  /** The agent for clients of 0.3, which cannot name one. */
  readonly root: string;
  readonly gate: Gate;
  readonly limits: StreamLimits & {
    readonly jsonDepth: number;
    readonly jsonKeys: number;
    /** The bytes of responses that the client of one connection has not read. */
    readonly answerBytesPerConnection: number;
  };
  readonly slots: StreamSlots;
}

/** The methods of all versions of the protocol, over the same operations as the other bindings. */
export class A2aService {
  readonly #options: ServiceOptions;
  /** The unread responses of all versions of the protocol together. */
  readonly #unread: UnreadResponses;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#unread = new UnreadResponses(options.limits.answerBytesPerConnection);
  }

  addTo(server: Server, methods: readonly GrpcMethod[]): void {
    const definition: Record<string, MethodDefinition<Buffer, Buffer>> = {};
    const implementation: UntypedServiceImplementation = {};
    for (const method of methods) {
      const { path, operation } = method;
      definition[path] = rawDefinition(path, operation.kind === 'stream');
      implementation[path] =
        operation.kind === 'stream'
          ? (call: StreamCall) => void this.#stream(method, operation, call)
          : (call: UnaryCall, callback: sendUnaryData<Buffer>) => {
              this.#respond(method, operation, call).then(
                (bytes) => callback(null, bytes),
                (error: unknown) => callback(statusOf(error, { path, logger: this.#options.logger })),
              );
            };
    }
    server.addService(definition, implementation);
  }

  async #respond(method: GrpcMethod, operation: UnaryOperation, call: UnaryCall): Promise<Buffer> {
    const request = await this.#open(method, call);
    const { held } = this.#options.gate.admissionOf(call);
    if (!operation.changes) await held.addAnswer();
    const bytes = method.encode(await operation.call(request));
    held.set(bytes.length);
    this.#unread.add(call, bytes.length);
    return bytes;
  }

  async #stream(method: GrpcMethod, operation: StreamOperation, call: StreamCall): Promise<void> {
    const { slots, limits, closing, gate, logger } = this.#options;
    try {
      const request = await this.#open(method, call);
      const { scope, signal } = request.call;
      const writer = new EventWriter(call, limits);
      await slots.hold(scope, async () => {
        for await (const event of operation.events(request)) {
          gate.admissionOf(call).held.set(0);
          await writer.write(method.encodeEvent(event), signal);
        }
        await writer.flush(signal);
      });
      // A plain end would say that the stream is complete, while the client has to resume it.
      if (closing.aborted) throw closing.reason;
      call.end();
    } catch (error) {
      call.emit('error', statusOf(error, { path: method.path, logger }));
      // The status waits behind unread events, so a reader that stays behind is cut; it can resume by its cursor.
      const timer = setTimeout(() => gate.admissionOf(call).cut(), stallMs(limits)).unref();
      call.once('cancelled', () => clearTimeout(timer));
    }
  }

  /** Checks the protocol version, then the parameters' size, then the agent. */
  async #open(method: GrpcMethod, call: AnyCall): Promise<Request & { readonly call: Call }> {
    const { agents, root, gate, limits, closing } = this.#options;
    const { version } = method.dialect;
    versionIn(textIn(call.metadata, VERSION_PARAMETER), [version]);
    const { tenant, params } = method.decode(call.request);
    // Decoding and checking a large message each take a while: other work runs in between.
    if (call.request.length > LARGE_BYTES) await nextTurn();
    assertJsonValue(params, { depth: limits.jsonDepth, keys: limits.jsonKeys });
    const name = tenant || root;
    const agent = agents.get(name);
    if (!agent) throw new NoSuchAgent(name);
    // The headers of the response say which of the extensions that the client named are in use.
    const metadata = new Metadata();
    for (const parameter of EXTENSIONS_PARAMETERS) {
      const activated = activatedExtensions(textIn(call.metadata, parameter));
      if (activated !== '') metadata.set(parameter, activated);
    }
    call.sendMetadata(metadata);
    const open = grpcCall(call, { ...gate.admissionOf(call), version, closing });
    return { agent, params, dialect: method.dialect, context: toCallContext(open), call: open };
  }
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
