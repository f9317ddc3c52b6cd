import { LangoError } from '../core/errors.js';
import { KEPT_BY_AGENTS } from '../stores/library.js';
import type { DocumentIndex } from '../stores/library.js';
import type { SecretKeeper } from '../core/secrets.js';
import type { Scope } from '../core/task.js';
import type { WalletKeeper } from '../stores/payments.js';
import type { OwnedData } from './data.js';
import type { Answer, CheckedInput, Operation, OperationName } from './operations.js';
import { OPERATIONS } from './operations.js';

/** Whose data an operation is about. */
interface OwnerContext {
  readonly scope: Scope;
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal;
}

/** The operations, on a node or on a data folder. What belongs to another owner is absent: both are `not-found`. */
export type OwnerService = {
  readonly [Name in OperationName]: (
    input: CheckedInput<Name>,
    context: OwnerContext,
  ) => Promise<Answer<Name>>;
};

/** What the operations work on. Each part is asked for by the first operation that needs it. */
export interface OwnerParts {
  /** Rejects when the vault cannot be opened. */
  readonly secrets: () => Promise<SecretKeeper>;
  /** Rejects when the vault cannot be opened. */
  readonly wallets: () => Promise<WalletKeeper>;
  readonly documents: () => Promise<DocumentIndex>;
  readonly data: OwnedData;
  /** What the node says about itself. */
  readonly status: () => Promise<Answer<'readStatus'>>;
}

const DOCUMENTS_PER_PAGE = 500;

export function createOwnerService({ secrets, wallets, documents, data, status }: OwnerParts): OwnerService {
  return {
    listSecrets: async (_input, { scope }) => ({ secrets: await (await secrets()).list(scope) }),
    storeSecret: async (input, { scope }) => ({ secret: await (await secrets()).store(scope, input) }),
    allowSecret: async ({ name, ...permission }, { scope }) => ({
      secret: await (await secrets()).allow(scope, name, permission),
    }),
    async deleteSecret({ name }, { scope }) {
      if (await (await secrets()).delete(scope, name)) return { deleted: name };
      throw new LangoError('not-found', `There is no secret "${name}".`, { hint: 'See: lango secrets list' });
    },

    readWallet: async (_input, { scope }) => ({ address: await (await wallets()).address(scope) }),
    importWallet: async ({ privateKey, replace }, { scope }) => ({
      address: await (await wallets()).import(scope, privateKey, { replace }),
    }),

    async listDocuments({ collection: only, after }, { scope }) {
      const index = await documents();
      const page = await index.list(scope, {
        ...(only === undefined ? { except: KEPT_BY_AGENTS } : { only }),
        ...(after === undefined ? {} : { after }),
        limit: DOCUMENTS_PER_PAGE,
      });
      return { ...page, maxBytes: index.maxBytes };
    },
    submitDocument: async (file, { scope }) => (await documents()).submit(scope, file),
    async removeDocuments({ collection, all, origins }, { scope }) {
      return { removed: await (await documents()).remove(scope, collection, all ? undefined : origins) };
    },
    async updateVectors({ action, collections: only }, { scope, signal }) {
      const index = await documents();
      if (action === 'embed') return index.embed(scope, signal);
      return { dropped: await index.dropVectors(scope, only === undefined ? {} : { only }) };
    },

    listDataKinds: async () => ({ kinds: data.kinds }),
    readData: ({ kind, after }, { scope }) => data.read(scope, kind, after),
    forgetData: async ({ kind, name }, { scope }) => ({ deleted: await data.forget(scope, kind, name) }),
    deleteData: async (_input, { scope }) => ({ deleted: await data.removeAll(scope) }),

    readStatus: status,
  };
}

/** One call, as it comes from outside. Rejects with `invalid-input`, naming each field that is wrong. */
export interface OwnerCall extends OwnerContext {
  readonly name: OperationName;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Checks the fields of a call and performs it. */
export async function performCall(service: OwnerService, call: OwnerCall): Promise<unknown> {
  const { name, fields, ...context } = call;
  const operation: Operation = OPERATIONS[name];
  const { success, data, error } = operation.input.safeParse(fields);
  if (success) {
    const perform = service[name] as (input: unknown, at: OwnerContext) => Promise<unknown>;
    return perform(data, context);
  }
  // No value is repeated: it may be a secret.
  const violations = error.issues.map(({ path, message }) => ({
    field: path.join('.'),
    description: message,
  }));
  const problems = violations.map(({ field, description }) => `${field}: ${description}`);
  throw new LangoError('invalid-input', `${problems.join('; ')}.`, { violations });
}
