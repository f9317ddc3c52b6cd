/**
 * Names stand once per owner, and triples are four numbers: small enough that a million of them, with an
 * index for each way to ask, stay in memory. A source is a name like the others.
 */
export const GRAPH_SCHEMA = `
  CREATE TABLE graph_names (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (tenant, owner, key)
  ) STRICT;

  CREATE TABLE graph_triples (
    subject INTEGER NOT NULL,
    predicate INTEGER NOT NULL,
    object INTEGER NOT NULL,
    source INTEGER NOT NULL,
    at INTEGER NOT NULL,
    outside INTEGER NOT NULL,
    PRIMARY KEY (subject, predicate, object, source)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX graph_by_object ON graph_triples (object, predicate, subject);
  CREATE INDEX graph_by_predicate ON graph_triples (predicate, object, subject);
  CREATE INDEX graph_by_source ON graph_triples (source);
`;

/** What goes with a context or a document goes from the graph too; `context` is a name, 0 for none. */
export const EXTRACTION_SCHEMA = `
  ALTER TABLE graph_triples ADD COLUMN context INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX graph_by_context ON graph_triples (context) WHERE context > 0;

  -- How often a document may still be read for the graph; 0 once it was.
  ALTER TABLE documents ADD COLUMN reads_left INTEGER NOT NULL DEFAULT 3;
  CREATE INDEX documents_unread ON documents (shelf, id) WHERE reads_left > 0;
`;
