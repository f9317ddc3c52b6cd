import { LangoError } from '../core/errors.js';
import type { HttpEndpoint, HttpRoute } from '../core/http.js';
import { httpErrorBody, sendJson } from './errors.js';

/** Answers the endpoints, for known callers; with 405 when a path is answered for other methods only. */
export function createEndpointRoute(endpoints: readonly HttpEndpoint[]): HttpRoute {
  const routes = endpoints.map((endpoint) => ({ endpoint, pattern: patternOf(endpoint.path) }));
  return async (exchange) => {
    const found = routes.filter(({ pattern }) => pattern.test(exchange.path));
    if (found.length === 0) return false;
    await exchange.caller();
    const { method } = exchange.request;
    const match = found.find(({ endpoint }) => endpoint.method === method);
    if (match) {
      const params = decode(match.pattern.exec(exchange.path)?.groups ?? {});
      sendJson(exchange.response, 200, await match.endpoint.handle(exchange, params));
      return true;
    }
    const allowed = found.map(({ endpoint }) => endpoint.method).join(', ');
    exchange.response.setHeader('Allow', allowed);
    sendJson(
      exchange.response,
      405,
      httpErrorBody(405, 'UNIMPLEMENTED', `Only ${allowed} is answered here.`),
    );
    return true;
  };
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`);
}

function decode(params: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  try {
    return Object.fromEntries(Object.entries(params).map(([name, text]) => [name, decodeURIComponent(text)]));
  } catch (cause) {
    throw new LangoError('invalid-input', 'The path is not valid percent-encoding.', { cause });
  }
}
