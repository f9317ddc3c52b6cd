CREATE TABLE ledger_entries (
  account_id BIGINT NOT NULL,
  amount_cents BIGINT NOT NULL,
  booked_at TIMESTAMP NOT NULL
);
CREATE INDEX ledger_entries_by_account ON ledger_entries (account_id, booked_at);
