/** Tasks that are gone while some of their events and idempotency rows still have to go. */
export const RETENTION_SCHEMA = `
  CREATE TABLE removed_tasks (
    key INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL
  ) STRICT;
`;
