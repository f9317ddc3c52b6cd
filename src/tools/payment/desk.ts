import type { PaymentStore } from '../../core/payment.js';
import type { Connection } from './connection.js';
import type { Ledger } from './ledger.js';
import type { Payer, PaymentLimits } from './payer.js';
import type { Wallets } from './wallets.js';

/** What the tools of this family work with. */
export interface Desk {
  readonly connection: Connection;
  readonly store: PaymentStore;
  readonly wallets: Wallets;
  readonly ledger: Ledger;
  readonly payer: Payer;
  readonly limits: PaymentLimits;
  /** The time that a call which only asks may take. */
  readonly askMs: number;
  /** The time that a call which pays may take. */
  readonly callMs: number;
}
