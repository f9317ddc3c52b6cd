import { z } from 'zod';
import { SECRETS_PATH } from '../app.js';
import type { HomeVault } from '../app.js';
import { LangoError } from '../core/errors.js';
import type { SecretItem, SecretPermission } from '../core/secrets.js';
import { SECRET_PLACES } from '../core/secrets.js';
import type { CommandContext } from './command.js';
import type { Connection } from './connection.js';
import { requestJson } from './server-request.js';
import type { VaultFlags } from './vault-way.js';
import { overVault } from './vault-way.js';

interface SecretToSet extends SecretPermission {
  readonly name: string;
  readonly value: string;
  readonly replace: boolean;
}

/** A person's own secrets, whoever has the vault open. */
export interface SecretsWay {
  set(secret: SecretToSet): Promise<SecretItem>;
  list(): Promise<readonly SecretItem[]>;
  allow(name: string, permission: SecretPermission): Promise<SecretItem>;
  /** Rejects with `not-found`. */
  delete(name: string): Promise<void>;
}

/** With whoever has the vault open. */
export function withSecrets<T>(
  flags: VaultFlags,
  context: CommandContext,
  use: (way: SecretsWay) => Promise<T>,
): Promise<T> {
  return overVault(flags, context, { ways: { direct, overHttp }, use });
}

function direct({ secrets, scope }: HomeVault): SecretsWay {
  return {
    set: (secret) => secrets.store(scope, secret),
    list: () => secrets.list(scope),
    allow: (name, permission) => secrets.allow(scope, name, permission),
    async delete(name) {
      if (!(await secrets.delete(scope, name))) throw noSecret(name);
    },
  };
}

const itemSchema = z.object({
  name: z.string(),
  reference: z.string(),
  places: z.array(z.enum(SECRET_PLACES)),
  hosts: z.array(z.string()),
  version: z.number(),
  createdAt: z.number(),
  updatedAt: z.number(),
  isDamaged: z.literal(true).optional(),
});

const answerSchema = z.object({
  secret: itemSchema.optional(),
  secrets: z.array(itemSchema).optional(),
});

function overHttp(connection: Connection): SecretsWay {
  const ask = (method: string, name?: string, body?: unknown) => request(connection, { method, name, body });
  return {
    async set({ name, ...body }) {
      return requireItem((await ask('PUT', name, body)).secret);
    },
    async list() {
      return (await ask('GET')).secrets ?? [];
    },
    async allow(name, permission) {
      return requireItem((await ask('PATCH', name, permission)).secret);
    },
    async delete(name) {
      await ask('DELETE', name);
    },
  };
}

interface Asked {
  readonly method: string;
  readonly name: string | undefined;
  readonly body: unknown;
}

async function request(connection: Connection, { method, name, body }: Asked) {
  const path = name === undefined ? SECRETS_PATH : `${SECRETS_PATH}/${encodeURIComponent(name)}`;
  return answerSchema.parse(await requestJson(connection, { method, path, body }));
}

function requireItem(item: z.infer<typeof itemSchema> | undefined): SecretItem {
  if (item) return item;
  throw new LangoError('unavailable', 'The server gave an answer that could not be read.');
}

function noSecret(name: string): LangoError {
  return new LangoError('not-found', `There is no secret "${name}".`, { hint: 'See: lango secrets list' });
}
