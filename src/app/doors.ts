import type { GrpcServer, GrpcServerOptions } from '../a2a/server/grpc/server.js';
import type { GrpcTls } from '../a2a/server/grpc/listener.js';
import type { PublishedAgent } from '../a2a/server/operations.js';
import { createA2aRoutes, createDiscoveryRoutes, isA2aPath } from '../a2a/server/routes.js';
import { StreamSlots } from '../a2a/server/stream-slots.js';
import type { Config } from '../config/config.js';
import type { ReadKeys } from '../core/card.js';
import type { Logger } from '../core/logger.js';
import type { Host } from '../http/host.js';
import { createHost } from '../http/host.js';
import type { TlsMaterial } from '../http/tls.js';
import type { Mount } from '../http/web-app.js';
import { createIdentity } from './identity.js';
import type { Locks } from './locks.js';

export interface DoorsOptions {
  readonly config: Config;
  readonly agents: ReadonlyMap<string, PublishedAgent>;
  /** The agent that answers at the root of the host. */
  readonly root: string;
  readonly locks: Locks;
  /** Express routers besides those of discovery. */
  readonly mounts: readonly Mount[];
  /** What cards are signed with. */
  readonly keys: ReadKeys;
  readonly logger: Logger;
}

/** Where requests come in: HTTP, and gRPC when it is switched on. Both know callers and count streams together. */
export interface Doors {
  readonly host: Host;
  readonly grpc: GrpcServer | undefined;
  /** From now on new connections get this. Only for doors that were opened with TLS. */
  readonly renewTls: (tls: TlsMaterial) => void;
}

export async function createDoors(options: DoorsOptions): Promise<Doors> {
  const { config, locks, agents, root, mounts, keys, logger } = options;
  const authenticator = createIdentity({ ...locks, config, logger });
  const { baseUrl } = config.a2a;
  const slots = new StreamSlots(config.server.limits);
  const a2aRoutes = createA2aRoutes({
    agents,
    root,
    limits: config.server.limits,
    slots,
    keys: config.a2a.signCards ? keys : undefined,
    ...(baseUrl ? { baseUrl } : {}),
  });
  const host = createHost({
    ...config.server,
    tls: locks.tls,
    allowedHosts: [...config.server.allowedHosts, ...(baseUrl ? [new URL(baseUrl).host] : [])],
    authenticator,
    claims: isA2aPath,
    routes: [a2aRoutes],
    mounts: [createDiscoveryRoutes({ agents, keys, ...(baseUrl ? { baseUrl } : {}) }), ...mounts],
    health: () => ({ ready: true }),
    logger,
  });
  const grpc = await createGrpc(options, { authenticator, slots });
  return {
    host,
    grpc,
    renewTls(tls) {
      host.renewTls(tls);
      grpc?.renewTls(grpcTls(tls, config));
    },
  };
}

/** Its library is loaded only when it is wanted: it costs memory and time at the start. */
async function createGrpc(
  { config, locks, agents, root, logger }: DoorsOptions,
  shared: Pick<GrpcServerOptions, 'authenticator' | 'slots'>,
): Promise<GrpcServer | undefined> {
  const { grpc, host, limits } = config.server;
  if (!grpc.enabled) return undefined;
  const { createGrpcServer } = await import('../a2a/server/grpc/server.js');
  return createGrpcServer({
    host,
    port: grpc.port,
    agents,
    root,
    ...shared,
    ...(locks.tls ? { tls: grpcTls(locks.tls, config) } : {}),
    limits,
    logger,
  });
}

/** Over gRPC a client that must show a certificate is refused by the handshake; who need not is not asked. */
function grpcTls({ key, cert, minVersion, ...clients }: TlsMaterial, { auth }: Config): GrpcTls {
  return { key, cert, minVersion, ...(auth.mode === 'mtls' ? clients : {}) };
}
