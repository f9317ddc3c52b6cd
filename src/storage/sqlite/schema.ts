/**
 * The schema of the database, as migrations. Each entry of `MIGRATIONS` takes the database from the version of its index to
 * the next one. An entry is never edited once released: a change of the schema is a new entry.
 */

/** SQLite's application id of Lango's files: "LNGO". A file with tables and another id belongs to another program. */
export const APPLICATION_ID = 0x4c4e474f;

/** Tasks, their events, and the inbox, which maps message ids to tasks. */
const TASKS = `
  CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- The key stands for the id where rows are many. It rises with each new task; none gets that of a task that is gone.
  CREATE TABLE tasks (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    context TEXT NOT NULL,
    parent TEXT,
    authority TEXT NOT NULL,
    level INTEGER NOT NULL,
    state TEXT NOT NULL,
    status_message TEXT,
    status_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    head INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    lease_by TEXT,
    lease_until INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    cancel_requested INTEGER NOT NULL
  ) STRICT;

  -- Lists: an agent's tasks, all or those in one state.
  CREATE INDEX tasks_by_status ON tasks (tenant, owner, agent, status_at, id, state);
  -- Sessions: the tasks of one conversation, in the order they were made.
  CREATE INDEX tasks_by_context ON tasks (context, agent, owner, tenant);
  -- What claim looks through: unfinished and not waiting for a person, by level of delegation.
  CREATE INDEX tasks_live ON tasks (level, id, agent) WHERE state IN ('submitted', 'working');

  CREATE TABLE events (
    task INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    author TEXT,
    type TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (task, seq)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE inbox (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    message_id TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    task TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, agent, message_id)
  ) STRICT, WITHOUT ROWID;
  `;

/** One row per payment intent. Amounts are whole numbers of the token's smallest unit. */
const PAYMENTS = `
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

/**
 * The knowledge graph. A name is stored once per owner, and a triple is four numbers: small enough that a million of them,
 * with an index for each kind of query, stay in memory. A source is a name like the others.
 */
const GRAPH = `
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

/** The vault. Values and keys are stored encrypted only; see docs/guides/use-secrets.md. */
const VAULT = `
  CREATE TABLE vault_master (
    slot INTEGER PRIMARY KEY CHECK (slot = 1),
    id TEXT NOT NULL,
    source TEXT NOT NULL
  ) STRICT;

  CREATE TABLE vault_keys (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    wrapped BLOB NOT NULL,
    PRIMARY KEY (tenant, owner)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE vault_entries (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    sealed BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, kind, name)
  ) STRICT, WITHOUT ROWID;
`;

/** Observational memory. `reflection` is the reflection that replaced an observation; an open one has none. */
const MEMORY = `
  CREATE TABLE observed (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    context TEXT NOT NULL,
    up_to TEXT NOT NULL,
    PRIMARY KEY (tenant, owner, agent, context)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE observations (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    context TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    first_task TEXT NOT NULL,
    last_task TEXT NOT NULL,
    made_by TEXT NOT NULL,
    reflection TEXT
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX observations_by_owner ON observations (tenant, owner, at, id);
  CREATE INDEX observations_by_context ON observations (tenant, owner, context, at, id);
  CREATE INDEX observations_by_reflection ON observations (reflection) WHERE reflection IS NOT NULL;

  CREATE TABLE reflections (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    text TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    made_by TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX reflections_by_owner ON reflections (tenant, owner, last_at, id);
`;

/** The outbox: push configs, and how far each was delivered. */
const PUSH = `
  CREATE TABLE push_configs (
    key TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    task TEXT NOT NULL,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    scheme TEXT,
    sealed TEXT,
    version TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    cursor INTEGER NOT NULL,
    up_to INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    lease_by TEXT,
    lease_until INTEGER NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    UNIQUE (task, id)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX push_by_owner ON push_configs (tenant, owner) WHERE state = 'active';
  CREATE INDEX push_given_up ON push_configs (next_at) WHERE state = 'given-up';
`;

/**
 * Documents, and the entries that agents saved. A row of `shelves` is one collection of one owner. `passage_words` is the
 * text index. It stores no text, only terms and the passages that have them. Each term begins with the id of its collection
 * ("7~proxy", see text-search.ts), so a search never reads other collections, and a thousand passages take a tenth of a
 * millisecond. `entries` holds every version of an entry. The newest version is also a document, so that searches find it.
 */
const LIBRARY = `
  CREATE TABLE shelves (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    collection TEXT NOT NULL,
    -- The embedding of its vectors; empty and 0 while there are none.
    model TEXT NOT NULL DEFAULT '',
    dimension INTEGER NOT NULL DEFAULT 0,
    -- The numbers of its documents, passages and vectors. Triggers maintain them.
    documents INTEGER NOT NULL DEFAULT 0,
    passages INTEGER NOT NULL DEFAULT 0,
    embedded INTEGER NOT NULL DEFAULT 0,
    UNIQUE (tenant, owner, collection)
  ) STRICT;

  CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    shelf INTEGER NOT NULL,
    origin TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    modified_at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    facts TEXT NOT NULL,
    saved_at INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    UNIQUE (shelf, origin)
  ) STRICT;

  -- Ids are never reused, so an id from an earlier search names the same passage or none.
  CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL,
    shelf INTEGER NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    first_line INTEGER,
    last_line INTEGER,
    heading TEXT NOT NULL,
    text TEXT NOT NULL,
    embedded INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  CREATE INDEX passages_by_document ON passages (document);
  CREATE INDEX passages_unembedded ON passages (shelf) WHERE embedded = 0;

  CREATE VIRTUAL TABLE passage_words USING fts5(
    terms, content = '', contentless_delete = 1, detail = none,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co' tokenchars '~'"
  );
  CREATE VIRTUAL TABLE passage_terms USING fts5vocab(passage_words, row);

  CREATE TABLE vectors (
    passage INTEGER PRIMARY KEY,
    shelf INTEGER NOT NULL,
    -- 32-bit floats, little-endian, of length 1.
    vector BLOB NOT NULL
  ) STRICT;

  CREATE INDEX vectors_by_shelf ON vectors (shelf);

  CREATE TRIGGER document_added AFTER INSERT ON documents BEGIN
    UPDATE shelves SET documents = documents + 1, passages = passages + new.passages WHERE id = new.shelf;
  END;
  CREATE TRIGGER document_removed AFTER DELETE ON documents BEGIN
    UPDATE shelves SET documents = documents - 1, passages = passages - old.passages WHERE id = old.shelf;
  END;
  CREATE TRIGGER vector_added AFTER INSERT ON vectors BEGIN
    UPDATE shelves SET embedded = embedded + 1 WHERE id = new.shelf;
  END;
  CREATE TRIGGER vector_removed AFTER DELETE ON vectors BEGIN
    UPDATE shelves SET embedded = embedded - 1 WHERE id = old.shelf;
  END;

  CREATE TABLE entries (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    name TEXT NOT NULL,
    category TEXT NOT NULL,
    content TEXT NOT NULL,
    diagnosis TEXT,
    tags TEXT NOT NULL,
    provenance TEXT NOT NULL,
    call TEXT NOT NULL,
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, kind, key, version)
  ) STRICT;

  CREATE UNIQUE INDEX entries_by_call ON entries (tenant, owner, call);
`;

/** Questions that expire. */
const QUESTION_EXPIRY = `
  ALTER TABLE tasks ADD COLUMN expires_at INTEGER;
  -- Tasks that wait for a person with a question that runs out.
  CREATE INDEX tasks_by_expiry ON tasks (expires_at) WHERE expires_at IS NOT NULL;
  `;

/** Marks memory that came from outside. */
const MEMORY_OUTSIDE = `
  ALTER TABLE observations ADD COLUMN outside INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE reflections ADD COLUMN outside INTEGER NOT NULL DEFAULT 0;
`;

/** Tasks that are removed, until all of their events and inbox rows are removed as well. */
const REMOVED_TASKS = `
  CREATE TABLE removed_tasks (
    key INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL
  ) STRICT;
`;

/** Triples extracted from documents. `context` is a name, so that triples are removed with their context; 0 for none. */
const EXTRACTION = `
  ALTER TABLE graph_triples ADD COLUMN context INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX graph_by_context ON graph_triples (context) WHERE context > 0;

  -- How often a document may still be read for the graph; 0 once it was.
  ALTER TABLE documents ADD COLUMN reads_left INTEGER NOT NULL DEFAULT 3;
  CREATE INDEX documents_unread ON documents (shelf, id) WHERE reads_left > 0;
`;

/** Entries are removed with the context that they were saved in. */
const ENTRIES_BY_CONTEXT = `
  CREATE INDEX entries_by_context ON entries (tenant, owner, provenance ->> '$.contextId');
`;

/**
 * `ended_before` tells which tasks were accepted after the end of a task: those with this key or a larger one. NULL until
 * the task ends.
 */
const ENDED_BEFORE = `
  ALTER TABLE tasks ADD COLUMN ended_before INTEGER;
  UPDATE tasks SET ended_before = 0 WHERE state IN ('completed', 'failed', 'canceled', 'rejected');
`;

/** What follows a crash: how often a task was leased when its process ended without a stop. The starts are not counted. */
const CRASHES = `
  ALTER TABLE tasks RENAME COLUMN attempts TO crashes;
  UPDATE tasks SET crashes = 0 WHERE crashes > 0;
`;

export const MIGRATIONS: readonly string[] = [
  TASKS,
  PAYMENTS,
  GRAPH,
  VAULT,
  MEMORY,
  PUSH,
  LIBRARY,
  QUESTION_EXPIRY,
  MEMORY_OUTSIDE,
  REMOVED_TASKS,
  EXTRACTION,
  ENTRIES_BY_CONTEXT,
  ENDED_BEFORE,
  CRASHES,
];
