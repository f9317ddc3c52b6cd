import { LangoError } from '../core/errors.js';
import { hashJson } from '../core/json.js';
import { AGENT_COLLECTIONS, type DocumentIndex } from '../capabilities/knowledge/stores/library.js';
import type { SavedSkills } from '../capabilities/skills/saved-skills.js';
import type { SecretStore } from '../core/vault.js';
import type { Scope } from '../core/task.js';
import type { WalletStore } from '../capabilities/payments/payment-store.js';
import type { OwnedBill } from './bill.js';
import type { OwnedData } from './data.js';
import type { Answer, CheckedInput, Operation, OperationName } from './operations.js';
import { OPERATIONS } from './operations.js';

/** The owner of the data that an operation works on, and the signal of the call. */
export interface OwnerContext {
  readonly scope: Scope;
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal;
  /** The scopes of the caller's token; undefined when it has none. */
  readonly scopes?: ReadonlySet<string> | undefined;
}

/** The operations on a node or a data folder. Data of another owner is `not-found`, like data that does not exist. */
export type OwnerService = {
  readonly [Name in OperationName]: (
    input: CheckedInput<Name>,
    context: OwnerContext,
  ) => Promise<Answer<Name>>;
};

/** Whether the issuer of a deleted sign-in has ended its tokens, and why not. */
type Revocation = Pick<Answer<'deleteSecret'>, 'isRevoked' | 'why'>;

/** The services behind the operations. The first operation that needs one opens it. */
export interface OwnerParts {
  /** Rejects when the vault cannot be opened. */
  readonly secrets: () => Promise<SecretStore>;
  /** Reads the sign-in that a secret holds. Resolves with what ends it at its issuer; undefined for other secrets. */
  readonly signInOf: (scope: Scope, name: string) => Promise<(() => Promise<Revocation>) | undefined>;
  /** Rejects when the vault cannot be opened. */
  readonly wallets: () => Promise<WalletStore>;
  readonly skills: SavedSkills;
  readonly documents: () => Promise<DocumentIndex>;
  readonly data: OwnedData;
  readonly bill: OwnedBill;
  /** Reads the spans of a task. Rejects with `not-found`. */
  readonly trace: (scope: Scope, taskId: string) => Promise<Answer<'readTrace'>>;
  /** Reads the status of the node. */
  readonly status: () => Promise<Answer<'readStatus'>>;
  /** Reads cards. Rejects with `not-found`. */
  readonly card: (name: string) => Promise<Answer<'readCard'>>;
  /** The operations that are for operators. Each rejects with `forbidden` for other callers. */
  readonly operators: Pick<OwnerService, 'addAgent' | 'removeAgent' | 'listOwners'>;
}

const DOCUMENTS_PER_PAGE = 500;

export function createOwnerService(parts: OwnerParts): OwnerService {
  const { secrets, signInOf, wallets, skills, documents, data, bill, trace, card, status, operators } = parts;
  return {
    ...operators,
    listSecrets: async (_input, { scope }) => ({ secrets: await (await secrets()).list(scope) }),
    storeSecret: async (input, { scope }) => ({ secret: await (await secrets()).store(scope, input) }),
    allowSecret: async ({ name, ...permission }, { scope }) => ({
      secret: await (await secrets()).allow(scope, name, permission),
    }),
    async deleteSecret({ name }, { scope }) {
      const store = await secrets();
      const revoke = await signInOf(scope, name);
      if (await store.delete(scope, name)) return { deleted: name, ...(await revoke?.()) };
      throw new LangoError('not-found', `There is no secret "${name}".`, { hint: 'See: lango secrets list' });
    },

    useSecret: async ({ name, ...use }, { scope }) => ({
      value: await (await secrets()).use(scope, name, use),
    }),

    async listSkills({ unless }, { scope }) {
      const list = await skills.list(scope);
      const version = hashJson(list);
      return version === unless ? { version } : { version, skills: list };
    },
    async readSkill({ name, after }, { scope }) {
      const { items, next } = await skills.read(scope, name, after);
      return { files: items, next };
    },

    readWallet: async (_input, { scope }) => ({ address: await (await wallets()).address(scope) }),
    importWallet: async ({ privateKey, replace }, { scope }) => ({
      address: await (await wallets()).import(scope, privateKey, { replace }),
    }),

    async listDocuments({ collection: only, after }, { scope }) {
      const index = await documents();
      const page = await index.list(scope, {
        ...(only === undefined ? { except: AGENT_COLLECTIONS } : { only }),
        after,
        limit: DOCUMENTS_PER_PAGE,
      });
      return { ...page, maxBytes: index.maxBytes };
    },
    submitDocument: async (file, { scope, signal }) => (await documents()).submit(scope, file, signal),
    async removeDocuments({ collection, all, origins }, { scope }) {
      return { removed: await (await documents()).remove(scope, collection, all ? undefined : origins) };
    },
    async updateVectors({ action, collections: only }, { scope, signal }) {
      const index = await documents();
      if (action === 'embed') return index.embed(scope, signal);
      return { dropped: await index.dropVectors(scope, { only }) };
    },

    listDataKinds: async () => ({ kinds: data.kinds }),
    readData: ({ kind, after }, { scope }) => data.read(scope, kind, after),
    forgetData: async ({ kind, name }, { scope }) => ({ deleted: await data.forget(scope, kind, name) }),
    deleteData: async (_input, { scope }) => ({ deleted: await data.removeAll(scope) }),

    async readBill({ after }, { scope }) {
      const { items, next } = await bill(scope, after);
      return { rows: items, next };
    },

    readTrace: ({ taskId }, { scope }) => trace(scope, taskId),

    readCard: ({ name }) => card(name),
    readStatus: status,
  };
}

/** One call with unchecked fields. */
export interface OwnerCall extends OwnerContext {
  readonly name: OperationName;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Checks the fields of a call and performs it. Rejects with `invalid-input`, naming each wrong field. */
export async function performCall(service: OwnerService, call: OwnerCall): Promise<unknown> {
  const { name, fields, ...context } = call;
  const operation: Operation = OPERATIONS[name];
  const { success, data, error } = operation.input.safeParse(fields);
  if (success) {
    const perform = service[name] as (input: unknown, at: OwnerContext) => Promise<unknown>;
    return perform(data, context);
  }
  // The error repeats no value, because a value may be a secret.
  const violations = error.issues.map(({ path, message }) => ({
    field: path.join('.'),
    description: message,
  }));
  const problems = violations.map(({ field, description }) => `${field}: ${description}`);
  throw new LangoError('invalid-input', `${problems.join('; ')}.`, { violations });
}
