import { LangoError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import type { SecretItem } from '../../core/secrets.js';

/** A secret as a model sees it. */
export function described(item: SecretItem): JsonObject {
  const { name, reference, places, hosts, version, updatedAt, isDamaged } = item;
  return {
    name,
    reference,
    allowed: places.length === 0 ? 'nowhere yet' : places.join(', '),
    ...(hosts.length === 0 ? {} : { hosts }),
    version,
    updatedAt: new Date(updatedAt).toISOString(),
    ...(isDamaged ? { damaged: 'its value cannot be read any more; it has to be stored again' } : {}),
  };
}

export function noSecret(name: string): LangoError {
  return new LangoError(
    'not-found',
    `name: there is no secret "${name}"; secrets_list names those there are.`,
  );
}
