import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { GrpcServer, GrpcServerOptions } from '../a2a/server/grpc/server.js';
import type { GrpcTls } from '../a2a/server/grpc/listener.js';
import { createA2aRoutes, createDiscoveryRoutes, isA2aPath, MCP_PATH } from '../a2a/server/routes.js';
import { StreamSlots } from '../a2a/server/stream-slots.js';
import { isLoopback } from '../core/addresses.js';
import type { Config } from '../config/config.js';
import { packageRoot, packageVersion } from '../config/package-root.js';
import { createConsoleRoute, isConsolePath } from '../console/routes.js';
import { OidcSignIn } from '../console/oidc.js';
import { Sessions } from '../console/sessions.js';
import { LangoError, loadPackage } from '../core/errors.js';
import { exchangeOf, type HttpRoute } from '../core/http.js';
import type { Authenticator } from '../core/identity.js';
import { Host, type HostAddress, type HostOptions } from '../http/host.js';
import type { TlsMaterial } from '../http/tls.js';
import type { Health, Mount } from '../http/web-app.js';
import type { Metrics } from '../telemetry/metrics.js';
import { egressOf, type Parts } from './node.js';

type ListenerParts = Parts<'config' | 'published' | 'peers' | 'root' | 'tls' | 'keys' | 'address'> &
  Parts<'metrics' | 'logger'>;

interface ListenersOptions {
  readonly authenticator: Authenticator;
  /** Express routers besides those of discovery. */
  readonly mounts: readonly Mount[];
  /** Whether the node takes work, for `/readyz`. */
  readonly health: () => Health;
}

export interface ListenerAddress extends HostAddress {
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

/** Throws `invalid-config` for a configuration that does not work without listeners of its own. */
export function assertMountable({ server }: Config): void {
  if (!server.grpc.enabled) return;
  const text = 'gRPC needs a port of its own, and start({ listen: false }) opens none.';
  const hint = 'Set server.grpc.enabled to false, or start the server without listen: false.';
  throw new LangoError('invalid-config', text, { hint });
}

const ISSUER_TIMEOUT_MS = 10_000;
const ISSUER_BYTES = 256 * 1024;
/** About the time in which a balancer notices that a node is not ready. */
const NOTICE_SECONDS = 5;

/** The listeners of this node: HTTP, and gRPC when it is on. They share the authenticator and the count of open streams. */
export async function createListeners(
  node: ListenerParts,
  { authenticator, mounts, health }: ListenersOptions,
) {
  const { config, published: agents, root, tls, keys, address, metrics, logger } = node;
  const { baseUrl } = config.a2a;
  const known = () => node.peers.known();
  const slots = new StreamSlots(config.server.limits);
  metrics?.addSources({ streams: () => slots.open });
  const a2aRoutes = createA2aRoutes({
    agents,
    root,
    limits: config.server.limits,
    slots,
    keys: config.a2a.signCards ? keys : undefined,
    baseUrl,
  });
  const noticeSeconds = isLoopback(config.server.host) ? 0 : NOTICE_SECONDS;
  const host = new Host({
    ...config.server,
    limits: { noticeSeconds, ...config.server.limits },
    tls,
    allowedHosts: [...config.server.allowedHosts, ...(baseUrl ? [new URL(baseUrl).host] : [])],
    authenticator,
    isLoopbackOnly: config.auth.mode === 'none',
    ...routeParts(node, a2aRoutes, await createMcp(node, slots)),
    mounts: [
      createDiscoveryRoutes({ agents, keys, baseUrl, known, isOpen: config.auth.mode === 'none' }),
      ...(metrics ? [metricsMount(metrics)] : []),
      ...mounts,
    ],
    onResponse: metrics && ((response) => metrics.recordResponse(response)),
    health,
    logger,
  });
  const grpc = await createGrpc(node, { authenticator, slots });
  return {
    /** Resolves once both listen. Rejects with `unavailable` when an address cannot be taken. Call it once. */
    async start(): Promise<ListenerAddress> {
      const grpcPort = await grpc?.start();
      if (grpcPort !== undefined) address.grpcListens(grpcPort);
      const bound = await host.start();
      address.httpListensAt(bound.origin);
      return { ...bound, grpcPort };
    },
    /** Answers requests of another app, in which this node is mounted. Needs no `start`. */
    answerMounted: ((request, response, next) => {
      host.handleMounted(request, response, next);
      if (host.baseUrl !== undefined) address.httpListensAt(host.baseUrl);
    }) satisfies MountedHandler,
    /** Gives new connections this certificate. Only for listeners that were made with TLS. */
    renewTls(renewed: TlsMaterial): void {
      host.renewTls(renewed);
      grpc?.renewTls(grpcTls(renewed, config));
    },
    /** Ends open requests and closes the listeners. Never rejects. */
    async stop(): Promise<void> {
      await Promise.all([host.stop(), grpc?.stop()]);
    },
  };
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
  node: Parts<'config' | 'logger'>,
  a2aRoutes: HttpRoute,
  mcpRoute: HttpRoute | undefined,
): Pick<HostOptions, 'claims' | 'routes' | 'sessionAuthorization'> {
  const { enabled = isLoopback(node.config.server.host) } = node.config.console;
  const isOwn = (method: string, path: string) =>
    isA2aPath(method, path) || (mcpRoute !== undefined && path === MCP_PATH);
  const routes = [a2aRoutes, ...(mcpRoute ? [mcpRoute] : [])];
  if (!enabled) return { claims: isOwn, routes };
  const sessions = new Sessions();
  const folder = join(packageRoot(), 'dist/console');
  return {
    sessionAuthorization: (request, baseUrl) => sessions.authorizationOf(request, baseUrl),
    claims: (method, path) => isOwn(method, path) || isConsolePath(path),
    routes: [...routes, createConsoleRoute({ folder, sessions, oidc: openOidc(node) })],
  };
}

/** Loads the library of MCP only where agents are offered as tools. */
async function createMcp(
  { config, published: agents }: ListenerParts,
  slots: StreamSlots,
): Promise<HttpRoute | undefined> {
  if (!config.mcp.serve) return undefined;
  const { createMcpRoute } = await loadPackage(
    '@modelcontextprotocol/server',
    () => import('../a2a/server/mcp/route.js'),
  );
  return createMcpRoute({ agents, slots, version: packageVersion(), limits: config.server.limits });
}

function openOidc(node: Parts<'config' | 'logger'>): OidcSignIn | undefined {
  const { auth, console } = node.config;
  const { issuer } = auth.jwt;
  const { clientId, scope } = console.oidc;
  if (auth.mode !== 'jwt' || issuer === undefined || clientId === undefined) return undefined;
  const rules = { configuredUrl: issuer, timeoutMs: ISSUER_TIMEOUT_MS, maxBytes: ISSUER_BYTES };
  return new OidcSignIn({ issuer, clientId, scope, fetch: egressOf(node)(rules) });
}

/** Loads the gRPC library only where gRPC is on: loading costs memory and time at the start. */
async function createGrpc(
  { config, tls, published: agents, root, logger }: ListenerParts,
  shared: Pick<GrpcServerOptions, 'authenticator' | 'slots'>,
): Promise<GrpcServer | undefined> {
  const { grpc, host, limits } = config.server;
  if (!grpc.enabled) return undefined;
  const { createGrpcServer } = await loadPackage(
    '@grpc/grpc-js',
    () => import('../a2a/server/grpc/server.js'),
  );
  return createGrpcServer({
    ...{ host, port: grpc.port, agents, root, ...shared },
    tls: tls && grpcTls(tls, config),
    limits,
    logger,
  });
}

/** The gRPC handshake asks for client certificates only in mode `mtls`, and then refuses clients without one. */
function grpcTls({ key, cert, minVersion, ...clients }: TlsMaterial, { auth }: Config): GrpcTls {
  return { key, cert, minVersion, ...(auth.mode === 'mtls' ? clients : {}) };
}
