import { Server, ServerCredentials, logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { setTimeout as delay } from 'node:timers/promises';
import { LangoError, errorText, serverStopping } from '../../../core/errors.js';
import { DIALECT_1_0 } from './methods.js';
import { DIALECT_0_3 } from './old-methods.js';
import type { ServiceOptions } from './service.js';
import { createService } from './service.js';
import type { GrpcTls } from './tls-credentials.js';
import { TlsCredentials } from './tls-credentials.js';

export interface GrpcServerOptions extends Omit<ServiceOptions, 'closing'> {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Without it the connections are in the clear. */
  readonly tls?: GrpcTls;
  readonly messageBytes: number;
  /** Pause after which a silent connection is asked whether it is alive. */
  readonly heartbeatSeconds: number;
  /** Time that open calls get to end when the server stops. */
  readonly drainSeconds: number;
}

/** The gRPC binding of a node: every agent on one port, chosen by the tenant of its card. */
export interface GrpcServer {
  /** Resolves to the port. Rejects with `unavailable` when the address cannot be taken. Call it once. */
  start(): Promise<number>;
  /** New connections get this certificate. Without TLS at the start there is nothing to renew. */
  renewTls(tls: GrpcTls): void;
  /** Stops accepting, tells open calls, waits up to `drainSeconds`, then cuts. Never rejects. */
  stop(): Promise<void>;
}

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
  const secure = options.tls && new TlsCredentials(options.tls);
  return {
    start: () => listen(server, options, secure ?? ServerCredentials.createInsecure()),
    renewTls: (tls) => secure?.renew(tls),
    async stop() {
      closing.abort(serverStopping());
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

function listen(
  server: Server,
  { host, port }: GrpcServerOptions,
  credentials: ServerCredentials,
): Promise<number> {
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(where, credentials, (error, taken) => {
      if (error) reject(cannotListen(error, where));
      else resolve(taken);
    });
  });
}

function cannotListen(cause: Error, where: string): LangoError {
  const isTaken = errorText(cause).includes('EADDRINUSE');
  return new LangoError(
    'unavailable',
    isTaken ? `${where} is already in use.` : `Cannot listen on ${where}: ${errorText(cause)}.`,
    { hint: 'Choose another port for gRPC with server.grpc.port (0 takes a free one).', cause },
  );
}
