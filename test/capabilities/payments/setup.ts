import { openSqliteStores, type AllStores } from '../../../lab/all-stores.js';
import { LangoError } from '../../../src/core/errors.js';
import { hashJson } from '../../../src/core/canonical-json.js';
import { silentLogger } from '../../../src/core/logger.js';
import type { PaymentStore } from '../../../src/capabilities/payments/payment-store.js';
import type { Scope } from '../../../src/core/task.js';
import type { ToolContext, ToolOutput } from '../../../src/core/tool.js';
import { createEgress } from '../../../src/http/egress.js';
import type { PaymentOptions } from '../../../src/capabilities/payments/context.js';
import { networkOf } from '../../../src/capabilities/payments/networks.js';
import { createPayments } from '../../../src/capabilities/payments/payments.js';
import type { WalletVault } from '../../../src/capabilities/payments/wallets.js';
import type { LocalChain } from '../../chain/local-chain.js';
import { RICH, RICH_KEYS } from '../../chain/local-chain.js';
import { callerOf, toolContext, toolNamed } from '../../support/tool-call.js';

/** The owner's wallet in these tests, and the payee. */
export const PAYER = RICH[1];
export const PAYEE = RICH[2];
const ALICE: Scope = { tenant: '', owner: 'alice' };

/** A vault in memory, which may hold a wallet's key from the start. */
export function memoryVault(key?: string): WalletVault & { readonly keys: Map<string, string> } {
  const keys = new Map<string, string>(key === undefined ? [] : [[nameOf(ALICE), key]]);
  const item = {
    kind: 'wallet',
    name: 'main',
    metadata: {},
    version: 1,
    createdAt: 0,
    updatedAt: 0,
  } as const;
  return {
    keys,
    async get(scope) {
      const found = keys.get(nameOf(scope));
      return found === undefined ? undefined : { ...item, value: Buffer.from(found) };
    },
    async put(scope, { value }) {
      if (keys.has(nameOf(scope))) throw new LangoError('conflict', 'there is one');
      keys.set(nameOf(scope), Buffer.from(value).toString());
      return item;
    },
  };
}

export interface Till {
  readonly payments: ReturnType<typeof createPayments>;
  readonly storage: AllStores;
  readonly store: PaymentStore;
  call(name: string, input?: unknown, changes?: Partial<ToolContext>): Promise<string>;
  /** The output, or the error that was thrown. */
  attempt(name: string, input?: unknown, changes?: Partial<ToolContext>): Promise<ToolOutput | Error>;
  /** The text of what `attempt` gives. */
  words(name: string, input?: unknown, changes?: Partial<ToolContext>): Promise<string>;
  settle(input: unknown, key: string): Promise<ToolOutput | undefined>;
  close(): Promise<void>;
}

export interface TillOptions extends Partial<Omit<PaymentOptions, 'store' | 'network'>> {
  readonly rpcUrl?: string;
  readonly token?: string;
  readonly file?: string;
  /** Hosts of paid endpoints that may have a private address. */
  readonly allowWeb?: readonly string[];
  readonly now?: () => number;
}

/** The family with a store of its own, against the local chain. */
export function openTill(chain: Pick<LocalChain, 'url' | 'token'>, options: TillOptions = {}): Till {
  const {
    rpcUrl = chain.url,
    token = chain.token,
    file = ':memory:',
    now,
    allowWeb = ['127.0.0.1'],
    ...others
  } = options;
  const storage = openSqliteStores({
    file,
    synchronous: 'normal',
    logger: silentLogger,
    ...(now ? { now } : {}),
  });
  const requestMs = others.requestMs ?? 30_000;
  const payments = createPayments({
    network: networkOf({ network: 'base-sepolia', rpcUrl, tokenAddress: token }),
    store: storage.payments,
    vault: memoryVault(RICH_KEYS[1]),
    limits: { perTransaction: 10_000_000n, daily: 50_000_000n },
    maxGasCost: 10n ** 15n,
    confirmations: 1,
    confirmMs: 60_000,
    requestMs,
    rpcFetch: createEgress({
      allowPrivate: [new URL(rpcUrl).host],
      timeoutMs: requestMs,
      logger: silentLogger,
    }),
    webFetch: createEgress({ allowPrivate: allowWeb, timeoutMs: 30_000, logger: silentLogger }),
    x402: { maxAmount: 100_000n, allowHosts: ['127.0.0.1'] },
    logger: silentLogger,
    ...others,
  });
  const call = callerOf(payments.tools);
  const output = (name: string, input: unknown = {}, changes: Partial<ToolContext> = {}) =>
    call(name, input, { key: newKey(), ...changes });
  const attempt: Till['attempt'] = (name, input, changes) =>
    output(name, input, changes).catch((error: unknown) => error as Error);
  return {
    payments,
    storage,
    store: storage.payments,
    async call(name, input, changes) {
      const done = await output(name, input, changes);
      if (done.isError) throw new Error(`${name} failed: ${textOf(done)}`);
      return textOf(done);
    },
    attempt,
    words: async (name, input, changes) => textOf(await attempt(name, input, changes)),
    async settle(input, key) {
      const tool = toolNamed(payments.tools, 'payment_send');
      return tool.settle!(tool.schema.parse(input), toolContext({ key }));
    },
    async close() {
      payments.close();
      await storage.close();
    },
  };
}

let keys = 0;

/** Makes a new key for a call, as the gate does. */
export function newKey(): string {
  return hashJson(['call', (keys += 1), process.pid]);
}

function textOf(output: ToolOutput | Error): string {
  if (!('content' in output)) return `${output.name}: ${output.message}`;
  return typeof output.content === 'string' ? output.content : JSON.stringify(output.content);
}

function nameOf({ tenant, owner }: Scope): string {
  return JSON.stringify([tenant, owner]);
}
