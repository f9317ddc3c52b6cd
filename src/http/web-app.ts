import type { RequestListener } from 'node:http';
import type { NextFunction, Request, Response, Router } from 'express';
import { LangoError } from '../core/errors.js';
import { exchangeOf, type HttpEndpoint } from '../core/http.js';
import type { Logger } from '../core/logger.js';
import { errorBody, sendError, sendJson } from './errors.js';

/** Routes of the express app. A handler gets the caller and the body of its request from `exchangeOf(request)`. */
export interface Mount {
  /** The paths of these routes, each with all below it. */
  readonly paths: readonly string[];
  /** `caller`: requests are authenticated before a route handles them. `anyone`: only their address is rate-limited. */
  readonly access: 'caller' | 'anyone';
  /** Adds the routes, with their whole paths, to a router of their own. Called once, at the first request for express. */
  readonly addTo: (router: Router) => void;
}

/** About the most that an endpoint answers at once. */
const PAGE_BYTES = 1024 * 1024;
/** Matches paths exactly, as the protocol's own routes do. */
const EXACT = { caseSensitive: true, strict: true };

/** The express app behind the hot path: the mounted routes, "not found" for all other paths, and the error handler. */
export async function createWebApp(mounts: readonly Mount[], logger: Logger): Promise<RequestListener> {
  const { default: express } = await import('express');
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  for (const { paths, access, addTo } of mounts) {
    const router = express.Router(EXACT);
    addTo(router);
    app.use([...paths], access === 'caller' ? requireCaller : countAnyone);
    app.use(router);
  }
  app.use(countAnyone, (request: Request) => {
    throw new LangoError('not-found', `There is nothing at ${request.method} ${exchangeOf(request).path}.`);
  });
  // Express recognizes an error handler by its four parameters.
  // eslint-disable-next-line max-params
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    if (isMalformed(error) && !response.headersSent)
      sendJson(response, 400, errorBody([400, 'INVALID_ARGUMENT'], 'The request is malformed.'));
    else sendError({ request, response }, error, logger);
  });
  return app;
}

async function requireCaller(request: Request, _response: Response, next: NextFunction): Promise<void> {
  await exchangeOf(request).caller();
  next();
}

function countAnyone(request: Request, _response: Response, next: NextFunction): void {
  exchangeOf(request).anyone();
  next();
}

/** Whether express itself refuses the request, for example because its path is not valid percent-encoding. */
const isMalformed = (error: unknown) => error instanceof Error && 'status' in error && error.status === 400;

/** Returns why a server accepts no work; undefined while it does. `/readyz` shows the message to everyone. */
export type Problem = () => Error | undefined;

/** Adds `/healthz` (the process runs) and `/readyz` (it accepts work). Both also respond while the server stops. */
export function mountHealth(problem: Problem): Mount {
  return {
    paths: ['/healthz', '/readyz'],
    access: 'anyone',
    addTo(router) {
      router.get('/healthz', (_request, response) => sendJson(response, 200, { status: 'ok' }));
      router.get('/readyz', (_request, response) => {
        const found = problem();
        sendJson(response, found ? 503 : 200, {
          status: found ? 'not ready' : 'ready',
          reason: found?.message,
        });
      });
    },
  };
}

/** The express routes of JSON endpoints, for known callers. A request for a path that has other methods only is refused with 405. */
export function mountEndpoints(endpoints: readonly HttpEndpoint[]): Mount {
  const byPath = Map.groupBy(endpoints, ({ path }) => path);
  return {
    paths: [...new Set([...byPath.keys()].map((path) => path.replace(/\/:.*$/, '')))],
    access: 'caller',
    addTo(router) {
      for (const [path, group] of byPath) {
        const route = router.route(path);
        for (const { method, handle } of group) {
          route[method](async (request, response) => {
            const exchange = exchangeOf(request);
            if (method === 'get') await exchange.roomForAnswer(PAGE_BYTES);
            sendJson(response, 200, await handle(exchange, request.params));
            exchange.answered();
          });
        }
        const allowed = group.map(({ method }) => method.toUpperCase()).join(', ');
        route.all((request, response) => {
          const text = `${request.method} is not supported at ${path}. Use ${allowed}.`;
          response.setHeader('Allow', allowed);
          sendJson(response, 405, errorBody([405, 'UNIMPLEMENTED'], text));
        });
      }
    },
  };
}
