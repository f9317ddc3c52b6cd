import { toPostgres, type TableMigrations } from '../../core/sql.js';

/** One row per payment intent. Amounts are whole numbers of the token's smallest unit. */
const SQLITE = `
  CREATE TABLE IF NOT EXISTS payments (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    chain_id INTEGER NOT NULL,
    token TEXT NOT NULL,
    "from" TEXT NOT NULL,
    "to" TEXT NOT NULL,
    amount INTEGER NOT NULL,
    purpose TEXT NOT NULL,
    state TEXT NOT NULL,
    nonce INTEGER,
    signed TEXT,
    hash TEXT,
    note TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (tenant, owner, key)
  ) STRICT;

  -- One transfer for each nonce of a wallet; one that was refused or failed holds it no longer.
  CREATE UNIQUE INDEX IF NOT EXISTS payments_by_nonce ON payments (chain_id, "from", nonce)
    WHERE nonce IS NOT NULL AND state IN ('signed', 'sent', 'confirmed');
  CREATE INDEX IF NOT EXISTS payments_by_wallet ON payments (chain_id, "from");
  CREATE INDEX IF NOT EXISTS payments_by_owner ON payments (tenant, owner, chain_id, created_at);
  CREATE INDEX IF NOT EXISTS payments_refused ON payments (hash) WHERE state = 'refused';
  CREATE INDEX IF NOT EXISTS payments_open ON payments (chain_id, "from", nonce) WHERE state IN ('signed', 'sent', 'refused');
`;

export const PAYMENT_TABLES: TableMigrations = { sqlite: [SQLITE], postgres: [toPostgres(SQLITE)] };
