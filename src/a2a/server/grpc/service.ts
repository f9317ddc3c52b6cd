import { Metadata } from '@grpc/grpc-js';
import type {
  MethodDefinition,
  ServerUnaryCall,
  ServerWritableStream,
  ServiceDefinition,
  UntypedServiceImplementation,
  sendUnaryData,
} from '@grpc/grpc-js';
import type { Logger } from '../../../core/logger.js';
import { toCallContext } from '../../translate/call.js';
import type { Operation, Request } from '../operations.js';
import { operationNamed } from '../operations.js';
import type { PublishedAgent } from '../routes.js';
import {
  EXTENSIONS_PARAMETER,
  OLD_EXTENSIONS_PARAMETER,
  VERSION_PARAMETER,
  activatedExtensions,
  versionIn,
} from '../service-parameters.js';
import type { StreamLimits } from '../stream-limits.js';
import { stallMs } from '../stream-limits.js';
import type { StreamPlaces } from '../stream-places.js';
import { EventWriter } from './event-writer.js';
import type { Gate } from './gate.js';
import type { AnyCall } from './grpc-call.js';
import { GrpcCall } from './grpc-call.js';
import { textIn } from './metadata.js';
import type { GrpcDialect, GrpcMethod } from './methods.js';
import { NoSuchAgent, statusOf } from './status.js';
import type { UntakenAnswers } from './untaken-answers.js';
import type { ValueLimits } from './value-limits.js';
import { assertValueLimits } from './value-limits.js';

export interface ServiceOptions {
  /** By name; read at each call. */
  readonly agents: ReadonlyMap<string, PublishedAgent>;
  /** The agent for callers that cannot name one. */
  readonly root: string;
  /** What its calls came through. */
  readonly gate: Gate;
  readonly limits: ValueLimits & StreamLimits;
  readonly places: StreamPlaces;
  /** Of all versions together. */
  readonly answers: UntakenAnswers;
  /** Aborts when the server stops. */
  readonly closing: AbortSignal;
  readonly logger: Logger;
}

export interface Service {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

/** One version of the protocol's service, over the same operations as the other bindings. */
export function createService(dialect: GrpcDialect, options: ServiceOptions): Service {
  const service = new A2aService(dialect, options);
  const definition: Record<string, MethodDefinition<Buffer, Buffer>> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const method of dialect.methods) {
    const operation = operationNamed(method.operation)!;
    definition[method.path] = rawDefinition(method.path, operation.kind === 'stream');
    implementation[method.path] =
      operation.kind === 'stream'
        ? (call: ServerWritableStream<Buffer, Buffer>) => void service.stream({ method, operation }, call)
        : (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) =>
            void service.answer({ method, operation }, call, callback);
  }
  return { definition, implementation };
}

/** Messages are decoded by us: the library would call a broken one an internal error. */
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

interface Bound<Kind extends Operation> {
  readonly method: GrpcMethod;
  readonly operation: Kind;
}

class A2aService {
  readonly #dialect: GrpcDialect;
  readonly #options: ServiceOptions;

  constructor(dialect: GrpcDialect, options: ServiceOptions) {
    this.#dialect = dialect;
    this.#options = options;
  }

  async answer(
    { method, operation }: Bound<Extract<Operation, { kind: 'unary' }>>,
    call: ServerUnaryCall<Buffer, Buffer>,
    callback: sendUnaryData<Buffer>,
  ): Promise<void> {
    try {
      const request = this.#open(method, call);
      const bytes = method.encode(await operation.answer(request));
      this.#options.answers.add(call, bytes.length);
      callback(null, bytes);
    } catch (error) {
      callback(statusOf(error, { path: method.path, logger: this.#options.logger }));
    }
  }

  async stream(
    { method, operation }: Bound<Extract<Operation, { kind: 'stream' }>>,
    call: ServerWritableStream<Buffer, Buffer>,
  ): Promise<void> {
    const { places, limits, closing, logger } = this.#options;
    try {
      const request = this.#open(method, call);
      const { scope, signal } = request.call;
      const writer = new EventWriter(call, limits);
      await places.hold(scope, async () => {
        for await (const event of operation.events(request))
          await writer.write(method.encodeEvent(event), signal);
        await writer.flush(signal);
      });
      // What is missing is there to be resumed; an end without a word would say that nothing is.
      if (closing.aborted) throw closing.reason;
      call.end();
    } catch (error) {
      call.emit('error', statusOf(error, { path: method.path, logger }));
      this.#cutLater(call);
    }
  }

  /** The status stands behind what the reader has not taken: what it still does not take is dropped, and its cursor gets it. */
  #cutLater(call: ServerWritableStream<Buffer, Buffer>): void {
    const { gate, limits } = this.#options;
    const timer = setTimeout(() => gate.passage(call).cut(), stallMs(limits)).unref();
    call.once('cancelled', () => clearTimeout(timer));
  }

  /** Which version, then whom, then what. */
  #open(method: GrpcMethod, call: AnyCall): Request & { readonly call: GrpcCall } {
    const { agents, root, gate, limits, closing } = this.#options;
    const { version } = this.#dialect;
    versionIn(textIn(call.metadata, VERSION_PARAMETER), [version]);
    const { tenant, params } = method.decode(call.request);
    assertValueLimits(params, limits);
    const agent = agents.get(tenant ?? root);
    if (!agent) throw new NoSuchAgent(tenant ?? root);
    this.#acknowledge(call);
    const open = new GrpcCall(call, { ...gate.passage(call), version, closing });
    return { handler: agent.handler, params, context: toCallContext(open), call: open };
  }

  /** The head of the answer: which of the extensions that the client named are in use. */
  #acknowledge(call: AnyCall): void {
    const metadata = new Metadata();
    for (const name of [EXTENSIONS_PARAMETER, OLD_EXTENSIONS_PARAMETER]) {
      const activated = activatedExtensions(textIn(call.metadata, name));
      if (activated !== '') metadata.set(name, activated);
    }
    call.sendMetadata(metadata);
  }
}
