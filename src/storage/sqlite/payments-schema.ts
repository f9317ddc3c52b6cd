/** One row for each intent to pay. Amounts are whole numbers of the token's smallest unit. */
export const PAYMENTS_SCHEMA = `
  CREATE TABLE payments (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    chain INTEGER NOT NULL,
    token TEXT NOT NULL,
    sender TEXT NOT NULL,
    receiver TEXT NOT NULL,
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
  CREATE UNIQUE INDEX payments_by_nonce ON payments (chain, sender, nonce)
    WHERE nonce IS NOT NULL AND state IN ('signed', 'sent', 'confirmed');
  CREATE INDEX payments_by_wallet ON payments (chain, sender);
  CREATE INDEX payments_by_owner ON payments (tenant, owner, chain, created_at);
  CREATE INDEX payments_refused ON payments (hash) WHERE state = 'refused';
  CREATE INDEX payments_open ON payments (chain, sender, nonce) WHERE state IN ('signed', 'sent', 'refused');
`;
