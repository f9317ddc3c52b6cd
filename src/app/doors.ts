import type { GrpcServer } from '../a2a/server/grpc/server.js';
import type { PublishedAgent } from '../a2a/server/routes.js';
import { createA2aRoutes } from '../a2a/server/routes.js';
import { StreamPlaces } from '../a2a/server/stream-places.js';
import type { Config } from '../config/config.js';
import type { HttpRoute } from '../core/http.js';
import type { Authenticator } from '../core/identity.js';
import type { Logger } from '../core/logger.js';
import type { Host } from '../http/host.js';
import { createHost } from '../http/host.js';

export interface DoorsOptions {
  readonly config: Config;
  readonly agents: ReadonlyMap<string, PublishedAgent>;
  /** The agent that answers at the root of the host. */
  readonly root: string;
  readonly authenticator: Authenticator;
  /** Besides the protocol's. */
  readonly routes: readonly HttpRoute[];
  readonly logger: Logger;
}

/** Where requests come in: HTTP, and gRPC when it is switched on. Both know callers and count streams together. */
export interface Doors {
  readonly host: Host;
  readonly grpc: GrpcServer | undefined;
}

/** A reader of a stream that has taken nothing for so many heartbeats is let go. */
const STALLED_HEARTBEATS = 2;

export async function createDoors(options: DoorsOptions): Promise<Doors> {
  const { config, agents, root, authenticator, routes, logger } = options;
  const { baseUrl } = config.a2a;
  const places = new StreamPlaces(config.server.limits.streams);
  const a2aRoutes = createA2aRoutes({
    agents,
    root,
    limits: config.server.limits,
    places,
    ...(baseUrl ? { baseUrl } : {}),
  });
  const host = createHost({
    ...config.server,
    allowedHosts: [...config.server.allowedHosts, ...(baseUrl ? [new URL(baseUrl).host] : [])],
    authenticator,
    routes: [a2aRoutes, ...routes],
    health: () => ({ ready: true }),
    logger,
  });
  return { host, grpc: await createGrpc(options, places) };
}

/** Its library is loaded only when it is wanted: it costs memory and time at the start. */
async function createGrpc(options: DoorsOptions, places: StreamPlaces): Promise<GrpcServer | undefined> {
  const { config, agents, root, authenticator, logger } = options;
  const { grpc, host, limits } = config.server;
  if (!grpc.enabled) return undefined;
  const { createGrpcServer } = await import('../a2a/server/grpc/server.js');
  return createGrpcServer({
    host,
    port: grpc.port,
    agents,
    root,
    authenticator,
    places,
    limits: { depth: limits.jsonDepth, keys: limits.jsonKeys },
    messageBytes: limits.bodyBytes,
    stallMs: 1_000 * STALLED_HEARTBEATS * limits.heartbeatSeconds,
    heartbeatSeconds: limits.heartbeatSeconds,
    drainSeconds: limits.drainSeconds,
    logger,
  });
}
