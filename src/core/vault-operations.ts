import { z } from 'zod';
import type { OperationTable } from './operation.js';
import { SECRET_PLACES, VAULT_NAME } from './secrets.js';

const MAX_TOOL_NAME = 64;
const MAX_HOST = 253;
const SECRETS = { what: 'Secrets', kind: 'secrets', tools: ['secrets_list'] };

const texts = z.array(z.string()).readonly();
const permission = {
  places: z.array(z.enum(SECRET_PLACES)).readonly().default([]),
  hosts: texts.default([]),
};
const secretName = z.string().regex(VAULT_NAME, 'this cannot be the name of a secret');
export const secret = z.object({
  name: z.string(),
  /** The placeholder in arguments: `{{secret:NAME}}`. */
  reference: z.string(),
  places: z.array(z.enum(SECRET_PLACES)).readonly(),
  /** Lower-case names, exact: "api.example.com". */
  hosts: texts,
  version: z.number(),
  createdAt: z.number(),
  updatedAt: z.number(),
  /** True when the stored value was damaged or tampered with, and cannot be read. */
  isDamaged: z.boolean().optional(),
});

/** The operations on secrets for owners, and for nodes on their behalf. Only the result of `useSecret` holds a value. */
export const VAULT_OPERATIONS = {
  listSecrets: {
    method: 'get',
    path: '/lango/secrets',
    keptBy: SECRETS,
    input: z.object({}),
    result: z.object({ secrets: z.array(secret).readonly() }),
  },
  storeSecret: {
    method: 'put',
    path: '/lango/secrets/:name',
    keptBy: SECRETS,
    input: z.object({
      name: secretName,
      value: z.string(),
      ...permission,
      replace: z.boolean().default(false),
    }),
    result: z.object({ secret }),
  },
  /** Replaces the places and hosts that the secret may be sent to. */
  allowSecret: {
    method: 'patch',
    path: '/lango/secrets/:name',
    keptBy: SECRETS,
    input: z.object({ name: secretName, ...permission }),
    result: z.object({ secret }),
  },
  deleteSecret: {
    method: 'delete',
    path: '/lango/secrets/:name',
    keptBy: SECRETS,
    input: z.object({ name: secretName }),
    result: z.object({ deleted: z.string(), isRevoked: z.boolean().optional(), why: z.string().optional() }),
  },

  /** Gives a trusted node the value for one use that the owner allowed; never for a page, which would keep it. */
  useSecret: {
    method: 'post',
    path: '/lango/secrets/:name/use',
    right: 'secrets',
    audited: ['name', 'place', 'host'],
    input: z.object({
      name: secretName,
      tool: z.string().max(MAX_TOOL_NAME),
      place: z.enum(['exec', 'http']),
      host: z.string().max(MAX_HOST).optional(),
    }),
    result: z.object({ value: z.string() }),
  },
} as const satisfies OperationTable;
