import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import type { GrpcServer, GrpcServerOptions } from '../a2a/server/grpc/server.js';
import { createA2aRoutes, createDiscoveryRoutes, isA2aPath, MCP_PATH } from '../a2a/server/routes.js';
import { StreamSlots } from '../a2a/server/stream-slots.js';
import { packageRoot, packageVersion } from '../config/package-root.js';
import { openConsole } from '../console/console.js';
import { createRootRoute } from '../console/routes.js';
import { BytesInFlight } from '../core/bytes-in-flight.js';
import { loadPackage } from '../core/errors.js';
import { exchangeOf, type HttpRoute, type TlsMaterial } from '../core/http.js';
import type { Authenticator } from '../core/identity.js';
import { openAuthenticator } from '../http/authentication.js';
import { Host, type HostAddress, type HostOptions } from '../http/host.js';
import type { TrustedNodes } from '../http/node-assertion.js';
import type { Mount, Problem } from '../http/web-app.js';
import type { Metrics } from '../telemetry/metrics.js';
import { egressOf, type Parts } from './node.js';

type ListenerParts = Parts<'config' | 'published' | 'peers' | 'root' | 'tls' | 'keys' | 'address'> &
  Parts<'settings' | 'secrets' | 'access' | 'token' | 'audit' | 'metrics' | 'logger'>;

interface ListenersOptions {
  /** The right with which a node may ask for a path: see `rightForPath`. */
  readonly rightFor: TrustedNodes['rightFor'];
  /** Express routers besides those of discovery. */
  readonly mounts: readonly Mount[];
  /** Whether the node takes work, for `/readyz`. */
  readonly problem: Problem;
}

interface ListenerAddress extends HostAddress {
  readonly grpcPort: number | undefined;
}

export type Listeners = Awaited<ReturnType<typeof createListeners>>;

/** A handler for `app.use(path, …)` of express, or of another framework over node:http. */
export type MountedHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  /** Called for paths that are not ours. */
  next: () => void,
) => void;

/** The listeners of this node: HTTP, and gRPC when it is on. They share the authenticator and the count of open streams. */
export async function createListeners(node: ListenerParts, { rightFor, mounts, problem }: ListenersOptions) {
  const { config, published: agents, root, tls, keys, address, metrics, logger } = node;
  const { baseUrl } = config.a2a;
  const known = () => node.peers.known();
  const authenticator = createIdentity(node, rightFor);
  const slots = new StreamSlots(config.server.limits);
  const bytesInFlight = new BytesInFlight(config.server.limits.bytesInFlight ?? standardBytesInFlight());
  metrics?.addSources({ streams: () => slots.open });
  const a2aRoutes = createA2aRoutes({
    agents,
    root,
    limits: config.server.limits,
    slots,
    keys: config.a2a.signCards ? keys : undefined,
    baseUrl,
  });
  const host = new Host({
    ...config.server,
    tls,
    pathPrefix: baseUrl ? new URL(baseUrl).pathname.replace(/\/+$/, '') : '',
    allowedHosts: [...config.server.allowedHosts, ...(baseUrl ? [new URL(baseUrl).host] : [])],
    authenticator,
    bytesInFlight,
    isLoopbackOnly: config.auth.mode === 'none',
    ...routeParts(node, a2aRoutes, await createMcp(node, slots)),
    mounts: [
      createDiscoveryRoutes({ agents, keys, baseUrl, known, isOpen: config.auth.mode === 'none' }),
      ...(metrics ? [metricsMount(metrics)] : []),
      ...mounts,
    ],
    onResponse: metrics && ((response) => metrics.recordResponse(response)),
    problem,
    logger,
  });
  const grpc = await createGrpc(node, { authenticator, slots, bytesInFlight });
  return {
    /** Resolves once both listen. Rejects with `unavailable` when an address cannot be taken. Call it once. */
    async start(): Promise<ListenerAddress> {
      const grpcPort = await grpc?.start();
      if (grpcPort !== undefined) address.grpcListens(grpcPort);
      const bound = await host.start();
      address.httpListensAt(bound.origin);
      return { ...bound, grpcPort };
    },
    /** Handles requests of another app, in which this node is mounted. Needs no `start`. */
    handleMounted: ((request, response, next) => {
      host.pipeline.handleMounted(request, response, next);
      if (host.pipeline.baseUrl !== undefined) address.httpListensAt(host.pipeline.baseUrl);
    }) satisfies MountedHandler,
    /** Gives new connections this certificate. Only for listeners that were made with TLS. */
    renewTls(renewed: TlsMaterial): void {
      host.renewTls(renewed);
      grpc?.renewTls(renewed);
    },
    /** Announces the stop, and after the notice time ends open requests and closes the listeners. Never rejects. */
    async stop(): Promise<void> {
      await host.announceStop();
      await Promise.all([host.stop(), grpc?.stop()]);
    },
  };
}

/** By the memory that the process may use, also in a container: a body or answer takes several times its bytes. */
function standardBytesInFlight(): number {
  return Math.floor(
    Math.min((process.constrainedMemory() || Infinity) / 16, getHeapStatistics().heap_size_limit / 8),
  );
}

/** Authenticates callers as `auth` says. */
function createIdentity(node: ListenerParts, rightFor: TrustedNodes['rightFor']): Authenticator {
  const { config, secrets, access, token, audit, logger } = node;
  const { limits } = config.server;
  return openAuthenticator(config.auth, {
    ...{ token, audit, logger, rightFor, baseUrl: config.a2a.baseUrl, onIssuer: access.learn },
    rates: {
      caller: { perSecond: limits.requestsPerSecond, burst: limits.requestBurst },
      address: { perSecond: limits.anonymousPerSecond, burst: limits.anonymousBurst },
    },
    introspectionSecret: secrets.introspectionSecret,
    createFetch: egressOf(node),
  });
}

/** The route itself checks the caller, because addresses in `metrics.allowFrom` need no token. */
function metricsMount(metrics: Metrics): Mount {
  return {
    paths: ['/metrics'],
    access: 'anyone',
    addTo: (router) => void router.get('/metrics', async (request) => metrics.respond(exchangeOf(request))),
  };
}

/** The A2A routes come first, so that MCP and the console cost A2A requests nothing. */
function routeParts(
  node: Parts<'config' | 'settings' | 'logger'>,
  a2aRoutes: HttpRoute,
  mcpRoute: HttpRoute | undefined,
): Pick<HostOptions, 'claims' | 'routes' | 'sessionAuthorization'> {
  const folder = join(packageRoot(), 'dist/console');
  const webConsole = openConsole(node.config, { folder, createFetch: egressOf(node) });
  const isMcp = (path: string) => mcpRoute !== undefined && path === MCP_PATH;
  return {
    claims: (method, path) => isA2aPath(method, path) || isMcp(path) || webConsole?.claims(path) === true,
    routes: [a2aRoutes, mcpRoute, webConsole?.route, createRootRoute(webConsole !== undefined)].filter(
      (route) => route !== undefined,
    ),
    sessionAuthorization: webConsole?.sessionAuthorization,
  };
}

/** Loads the library of MCP only where agents are offered as tools. */
async function createMcp({ config, published: agents }: ListenerParts, slots: StreamSlots) {
  if (!config.mcp.serve) return undefined;
  const { createMcpRoute } = await loadPackage(
    '@modelcontextprotocol/server',
    () => import('../a2a/server/mcp/route.js'),
  );
  return createMcpRoute({ agents, slots, version: packageVersion(), limits: config.server.limits });
}

/** Loads the gRPC library only where gRPC is on: loading costs memory and time at the start. */
async function createGrpc(
  { config, tls, published: agents, root, logger }: ListenerParts,
  shared: Pick<GrpcServerOptions, 'authenticator' | 'slots' | 'bytesInFlight'>,
): Promise<GrpcServer | undefined> {
  const { grpc, host, limits } = config.server;
  if (!grpc.enabled) return undefined;
  const { createGrpcServer } = await loadPackage(
    '@grpc/grpc-js',
    () => import('../a2a/server/grpc/server.js'),
  );
  return createGrpcServer({
    ...{ host, port: grpc.port, agents, root, ...shared },
    tls,
    asksClients: config.auth.mode === 'mtls',
    limits,
    logger,
  });
}
