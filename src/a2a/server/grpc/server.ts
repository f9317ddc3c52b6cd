import { Server, ServerCredentials, logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { serverStopping } from '../../../core/errors.js';
import type { TlsMaterial } from '../../../core/http.js';
import { Gate, type GateOptions } from './gate.js';
import { Listener, TlsCredentials } from './listener.js';
import { SERVICE_1_0 } from './methods.js';
import { SERVICE_0_3 } from './old-methods.js';
import { A2aService, type ServiceOptions } from './service.js';

/** Limits with the names of `server.limits`. */
interface GrpcLimits extends Pick<GateOptions['limits'], 'bodyBytes'> {
  /** Time for the TLS handshake. */
  readonly headerSeconds: number;
  readonly connections: number;
  /** Open calls on one connection. */
  readonly callsPerConnection: number;
  /** A silent connection gets a ping after this time, and is cut when it does not respond in as long again. */
  readonly heartbeatSeconds: number;
  /** Time that open calls get to end when the server stops. */
  readonly drainSeconds: number;
}

/** The options that `createGrpcServer` makes itself. */
type Built = 'gate' | 'closing' | 'limits';

export interface GrpcServerOptions extends Omit<ServiceOptions, Built>, Omit<GateOptions, Built> {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Without it the connections are not encrypted. */
  readonly tls?: TlsMaterial | undefined;
  /** Whether clients without a certificate of the authority in `tls` are refused. Default: they are, if there is one. */
  readonly asksClients?: boolean;
  readonly limits: GrpcLimits & ServiceOptions['limits'] & GateOptions['limits'];
}

/** The gRPC binding of a node: every agent on one port, chosen by the tenant of its card. */
export type GrpcServer = ReturnType<typeof createGrpcServer>;

/** A connection without a call for so many heartbeats is closed; its client opens another when it needs one. */
const IDLE_HEARTBEATS = 20;

export function createGrpcServer(options: GrpcServerOptions) {
  const { host, port, limits, logger, asksClients = true } = options;
  const closing = new AbortController();
  const gate = new Gate({ ...options, closing: closing.signal });
  const server = createLibraryServer(limits, gate);
  const service = new A2aService({ ...options, gate, closing: closing.signal });
  for (const methods of [SERVICE_1_0, SERVICE_0_3]) service.addTo(server, methods);
  const own = ({ ca, crl, ...tls }: TlsMaterial): TlsMaterial => (asksClients ? { ca, crl, ...tls } : tls);
  const secure = options.tls && new TlsCredentials(own(options.tls), limits.headerSeconds);
  const connections = server.createConnectionInjector(secure ?? ServerCredentials.createInsecure());
  const listener = new Listener({
    serve: (socket) => connections.injectConnection(socket),
    maxConnections: limits.connections,
    logger,
  });
  return {
    /** Resolves to the port. Rejects with `unavailable` when the address cannot be taken. Call it once. */
    start: () => listener.listen(host, port),
    /** New connections get this certificate. Does nothing when the server started without TLS. */
    renewTls: (tls: TlsMaterial) => secure?.renew(own(tls)),
    /** Stops accepting calls, aborts open ones, waits up to `drainSeconds`, then cuts. Never rejects. */
    async stop(): Promise<void> {
      closing.abort(serverStopping());
      const drained = listener.drain(limits.drainSeconds * 1_000);
      // Refuses new calls, and closes each connection after its last one. Its callback comes too early to wait for.
      server.tryShutdown(() => {});
      await drained;
    },
  };
}

function createLibraryServer(limits: GrpcLimits, { interceptor }: Gate): Server {
  // Our own log has all that matters.
  setLogVerbosity(logVerbosity.NONE);
  const heartbeatMs = limits.heartbeatSeconds * 1_000;
  return new Server({
    'grpc.max_receive_message_length': limits.bodyBytes,
    'grpc.max_concurrent_streams': limits.callsPerConnection,
    'grpc.keepalive_time_ms': heartbeatMs,
    'grpc.keepalive_timeout_ms': heartbeatMs,
    'grpc.max_connection_idle_ms': heartbeatMs * IDLE_HEARTBEATS,
    'grpc.enable_channelz': 0,
    interceptors: [interceptor],
  });
}
