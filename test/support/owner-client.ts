import { KNOWLEDGE_OPERATIONS } from '../../src/capabilities/knowledge/operations.js';
import { PAYMENT_OPERATIONS } from '../../src/capabilities/payments/index.js';
import { SKILL_OPERATIONS } from '../../src/capabilities/skills/operations.js';
import type { OperationClient } from '../../src/core/operation.js';
import { VAULT_OPERATIONS } from '../../src/core/vault-operations.js';
import { createOwnerClient as createClient, type ServerAccess } from '../../src/owners/client.js';
import { SERVER_OPERATIONS } from '../../src/owners/operations.js';

/** The operations of the server and of all shipped capabilities. */
export const ALL_OPERATIONS = {
  ...SERVER_OPERATIONS,
  ...VAULT_OPERATIONS,
  ...PAYMENT_OPERATIONS,
  ...KNOWLEDGE_OPERATIONS,
  ...SKILL_OPERATIONS,
};

export type OwnerClient = OperationClient<typeof ALL_OPERATIONS>;

export function createOwnerClient(server: ServerAccess): OwnerClient {
  return createClient(ALL_OPERATIONS, server);
}
