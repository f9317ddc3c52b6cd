import { LangoError } from '../core/errors.js';
import type { HttpRoute } from '../core/http.js';
import { isJsonObject, isTexts } from '../core/json.js';
import type { Json } from '../core/json.js';
import type { SecretItem, SecretKeeper, SecretPermission } from '../core/secrets.js';
import { SECRET_PLACES } from '../core/secrets.js';
import type { Scope } from '../core/task.js';
import { VAULT_NAME } from '../core/vault.js';
import type { OwnerRequest } from './owner-route.js';
import { createOwnerRoute, wrongMethod } from './owner-route.js';

export interface SecretsRouteOptions {
  /** Answers `GET PATH`, and `PUT`, `PATCH` and `DELETE PATH/NAME`. */
  readonly path: string;
  /** Throws when there is no vault. */
  readonly keeper: () => SecretKeeper;
}

/**
 * A caller's own secrets, for the command line while the server has the vault open. Values come in here and never go out.
 */
export function createSecretsRoute({ path, keeper }: SecretsRouteOptions): HttpRoute {
  return createOwnerRoute(path, (request) => perform(request, keeper()));
}

async function perform({ exchange, scope, name }: OwnerRequest, keeper: SecretKeeper): Promise<unknown> {
  const { method } = exchange.request;
  if (name === undefined) {
    if (method === 'GET') return { secrets: await keeper.list(scope) };
    throw wrongMethod('GET');
  }
  if (!VAULT_NAME.test(name)) throw new LangoError('invalid-input', 'This cannot be the name of a secret.');
  switch (method) {
    case 'PUT':
      return { secret: await store(keeper, { scope, name, body: await exchange.readJson() }) };
    case 'PATCH': {
      const permission = permissionIn(await exchange.readJson());
      return { secret: await keeper.allow(scope, name, permission) };
    }
    case 'DELETE':
      if (await keeper.delete(scope, name)) return { deleted: name };
      throw new LangoError('not-found', `There is no secret "${name}".`);
    default:
      throw wrongMethod('PUT', 'PATCH', 'DELETE');
  }
}

interface Storing {
  readonly scope: Scope;
  readonly name: string;
  readonly body: Json;
}

function store(keeper: SecretKeeper, { scope, name, body }: Storing): Promise<SecretItem> {
  const permission = permissionIn(body);
  const { value, replace } = isJsonObject(body) ? body : {};
  if (typeof value !== 'string') throw new LangoError('invalid-input', 'value: it must be a text.');
  return keeper.store(scope, { name, value, ...permission, replace: replace === true });
}

function permissionIn(body: Json): SecretPermission {
  const { places = [], hosts = [] } = isJsonObject(body) ? body : {};
  if (!isTexts(places) || !isTexts(hosts)) {
    throw new LangoError('invalid-input', 'places, hosts: they must be lists of texts.');
  }
  const wrong = places.find((place) => !SECRET_PLACES.some((known) => known === place));
  if (wrong !== undefined) {
    throw new LangoError('invalid-input', `places: it can hold ${SECRET_PLACES.join(', ')}.`);
  }
  return { places: SECRET_PLACES.filter((place) => places.includes(place)), hosts };
}
