import { exchangeOf } from '../core/http.js';
import type { HttpEndpoint } from '../core/http.js';
import { httpErrorBody, sendJson } from './errors.js';
import type { Mount } from './web-app.js';

/** The express routes of JSON endpoints, for known callers. A path that has other methods only is answered with 405. */
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
            sendJson(response, 200, await handle(exchangeOf(request), request.params));
          });
        }
        const allowed = group.map(({ method }) => method.toUpperCase()).join(', ');
        route.all((request, response) => {
          const text = `${request.method} is not answered at ${path}. Use ${allowed}.`;
          response.setHeader('Allow', allowed);
          sendJson(response, 405, httpErrorBody(405, 'UNIMPLEMENTED', text));
        });
      }
    },
  };
}
