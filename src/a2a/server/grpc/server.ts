import { Server, ServerCredentials, logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { setTimeout as delay } from 'node:timers/promises';
import { LangoError, errorText } from '../../../core/errors.js';
import { DIALECT_1_0 } from './methods.js';
import { DIALECT_0_3 } from './old-methods.js';
import type { ServiceOptions } from './service.js';
import { createService } from './service.js';

export interface GrpcServerOptions extends Omit<ServiceOptions, 'closing'> {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Without it the connections are in the clear. PEM texts. */
  readonly tls?: GrpcTls;
  readonly messageBytes: number;
  /** Pause after which a silent connection is asked whether it is alive. */
  readonly heartbeatSeconds: number;
  /** Time that open calls get to end when the server stops. */
  readonly drainSeconds: number;
}

export interface GrpcTls {
  readonly key: string;
  readonly cert: string;
  /** Whose certificates clients must show; without it they need none. */
  readonly clientCa?: string;
}

/** The gRPC binding of a node: every agent on one port, chosen by the tenant of its card. */
export interface GrpcServer {
  /** Resolves to the port. Rejects with `unavailable` when the address cannot be taken. Call it once. */
  start(): Promise<number>;
  /** Stops accepting, tells open calls, waits up to `drainSeconds`, then cuts. Never rejects. */
  stop(): Promise<void>;
}

const RETRY_AFTER_MS = 2_000;

export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  // What matters of it stands in our own log.
  setLogVerbosity(logVerbosity.NONE);
  const closing = new AbortController();
  const heartbeatMs = options.heartbeatSeconds * 1_000;
  const server = new Server({
    'grpc.max_receive_message_length': options.messageBytes,
    'grpc.keepalive_time_ms': heartbeatMs,
    'grpc.keepalive_timeout_ms': heartbeatMs,
    'grpc.enable_channelz': 0,
  });
  for (const dialect of [DIALECT_1_0, DIALECT_0_3]) {
    const { definition, implementation } = createService(dialect, { ...options, closing: closing.signal });
    server.addService(definition, implementation);
  }
  return {
    start: () => listen(server, options),
    async stop() {
      closing.abort(stopping());
      const closed = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      const late = new AbortController();
      await Promise.race([
        closed,
        delay(options.drainSeconds * 1_000, undefined, { signal: late.signal }).catch(() => {}),
      ]);
      late.abort();
      server.forceShutdown();
    },
  };
}

function listen(server: Server, { host, port, tls }: GrpcServerOptions): Promise<number> {
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(where, credentials(tls), (error, taken) => {
      if (error) reject(cannotListen(error, where));
      else resolve(taken);
    });
  });
}

function credentials(tls: GrpcTls | undefined): ServerCredentials {
  if (!tls) return ServerCredentials.createInsecure();
  const { key, cert, clientCa } = tls;
  const pair = { private_key: Buffer.from(key), cert_chain: Buffer.from(cert) };
  return ServerCredentials.createSsl(clientCa ? Buffer.from(clientCa) : null, [pair], clientCa !== undefined);
}

function cannotListen(cause: Error, where: string): LangoError {
  const isTaken = errorText(cause).includes('EADDRINUSE');
  return new LangoError(
    'unavailable',
    isTaken ? `${where} is already in use.` : `Cannot listen on ${where}: ${errorText(cause)}.`,
    { hint: 'Choose another port for gRPC with server.grpc.port (0 takes a free one).', cause },
  );
}

function stopping(): LangoError {
  return new LangoError('unavailable', 'The server is stopping.', {
    retryable: true,
    retryAfterMs: RETRY_AFTER_MS,
  });
}
