import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import type { SecretItem } from '../../core/secrets.js';
import { VAULT_NAME } from '../../core/vault.js';

export const ANSWER_TIME_MS = 10_000;

export function nameField() {
  return z
    .string()
    .regex(VAULT_NAME, 'must be a letter, then up to 63 letters, digits, "_", "." or "-"')
    .describe('The name of the secret');
}

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
