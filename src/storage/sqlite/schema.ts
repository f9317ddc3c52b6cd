/** The tables of the first version of the database that was released. See migrations.ts for what came after. */

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
    -- How often a process ended without a stop while it had the lease, since the task last recorded a step.
    crashes INTEGER NOT NULL,
    -- When the first of its open questions runs out.
    expires_at INTEGER,
    cancel_requested INTEGER NOT NULL,
    -- Tasks with this key or a larger one were accepted after the end of the task. NULL until it ends.
    ended_before INTEGER
  ) STRICT;

  -- Lists: an agent's tasks, all or those in one state.
  CREATE INDEX tasks_by_status ON tasks (tenant, owner, agent, status_at, id, state);
  -- Sessions: the tasks of one conversation, in the order they were made.
  CREATE INDEX tasks_by_context ON tasks (context, agent, owner, tenant);
  -- What claim looks through, owner by owner: unfinished and not waiting for a person, by level of delegation.
  CREATE INDEX tasks_live ON tasks (level, tenant, owner, id, agent) WHERE state IN ('submitted', 'working');
  -- Tasks that wait for a person with a question that runs out.
  CREATE INDEX tasks_by_expiry ON tasks (expires_at) WHERE expires_at IS NOT NULL;

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

  -- Tasks that are removed, until all of their events and inbox rows are removed as well.
  CREATE TABLE removed_tasks (
    key INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL
  ) STRICT;
`;

/** One row per payment intent. Amounts are whole numbers of the token's smallest unit. */
const PAYMENTS = `
  CREATE TABLE payments (
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
  CREATE UNIQUE INDEX payments_by_nonce ON payments (chain_id, "from", nonce)
    WHERE nonce IS NOT NULL AND state IN ('signed', 'sent', 'confirmed');
  CREATE INDEX payments_by_wallet ON payments (chain_id, "from");
  CREATE INDEX payments_by_owner ON payments (tenant, owner, chain_id, created_at);
  CREATE INDEX payments_refused ON payments (hash) WHERE state = 'refused';
  CREATE INDEX payments_open ON payments (chain_id, "from", nonce) WHERE state IN ('signed', 'sent', 'refused');
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
    from_outside INTEGER NOT NULL,
    -- The name that stands for its context, so that it is removed with the context; 0 for none.
    context INTEGER NOT NULL,
    PRIMARY KEY (subject, predicate, object, source)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX graph_by_object ON graph_triples (object, predicate, subject);
  CREATE INDEX graph_by_predicate ON graph_triples (predicate, object, subject);
  CREATE INDEX graph_by_source ON graph_triples (source);
  CREATE INDEX graph_by_context ON graph_triples (context) WHERE context > 0;
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
    context_id TEXT NOT NULL,
    up_to TEXT NOT NULL,
    PRIMARY KEY (tenant, owner, agent, context_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE observations (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    context_id TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    tasks TEXT NOT NULL,
    "by" TEXT NOT NULL,
    from_outside INTEGER NOT NULL,
    reflection TEXT
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX observations_by_owner ON observations (tenant, owner, at, id);
  CREATE INDEX observations_by_context ON observations (tenant, owner, context_id, at, id);
  CREATE INDEX observations_by_reflection ON observations (reflection) WHERE reflection IS NOT NULL;

  CREATE TABLE reflections (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    text TEXT NOT NULL,
    "from" INTEGER NOT NULL,
    "to" INTEGER NOT NULL,
    "by" TEXT NOT NULL,
    from_outside INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX reflections_by_owner ON reflections (tenant, owner, "to", id);
`;

/** The outbox: push configs, and how far each was delivered. */
const PUSH = `
  CREATE TABLE push_configs (
    key TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    task_id TEXT NOT NULL,
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
    UNIQUE (task_id, id)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX push_by_owner ON push_configs (tenant, owner) WHERE state = 'active';
  CREATE INDEX push_given_up ON push_configs (next_at) WHERE state = 'given-up';
`;

/**
 * Documents, and the entries that agents saved. A row of `collections` is one collection of one owner. `passage_words` is the
 * text index. It stores no text, only terms and the passages that have them. Each term begins with the id of its collection
 * ("7~proxy", see text-search.ts), so a search never reads other collections, and a thousand passages take a tenth of a
 * millisecond. `entries` holds every version of an entry. The newest version is also a document, so that searches find it.
 */
const LIBRARY = `
  CREATE TABLE collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The embedding of its vectors; empty and 0 while there are none.
    model TEXT NOT NULL DEFAULT '',
    dimension INTEGER NOT NULL DEFAULT 0,
    -- The numbers of its documents, passages and vectors. Triggers maintain them.
    documents INTEGER NOT NULL DEFAULT 0,
    passages INTEGER NOT NULL DEFAULT 0,
    embedded INTEGER NOT NULL DEFAULT 0,
    UNIQUE (tenant, owner, name)
  ) STRICT;

  CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL,
    origin TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    modified_at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    facts TEXT NOT NULL,
    saved_at INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    -- How often it may still be read for the graph; 0 once it was.
    reads_left INTEGER NOT NULL,
    UNIQUE (collection, origin)
  ) STRICT;

  CREATE INDEX documents_unread ON documents (collection, id) WHERE reads_left > 0;

  -- Ids are never reused, so an id from an earlier search names the same passage or none.
  CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL,
    collection INTEGER NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    lines TEXT,
    heading TEXT NOT NULL,
    text TEXT NOT NULL,
    embedded INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  CREATE INDEX passages_by_document ON passages (document);
  CREATE INDEX passages_unembedded ON passages (collection) WHERE embedded = 0;

  CREATE VIRTUAL TABLE passage_words USING fts5(
    terms, content = '', contentless_delete = 1, detail = none,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co' tokenchars '~'"
  );
  CREATE VIRTUAL TABLE passage_terms USING fts5vocab(passage_words, row);

  CREATE TABLE vectors (
    passage INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    -- 32-bit floats, little-endian, of length 1.
    vector BLOB NOT NULL
  ) STRICT;

  CREATE INDEX vectors_by_collection ON vectors (collection);

  CREATE TRIGGER document_added AFTER INSERT ON documents BEGIN
    UPDATE collections SET documents = documents + 1, passages = passages + new.passages WHERE id = new.collection;
  END;
  CREATE TRIGGER document_removed AFTER DELETE ON documents BEGIN
    UPDATE collections SET documents = documents - 1, passages = passages - old.passages WHERE id = old.collection;
  END;
  CREATE TRIGGER vector_added AFTER INSERT ON vectors BEGIN
    UPDATE collections SET embedded = embedded + 1 WHERE id = new.collection;
  END;
  CREATE TRIGGER vector_removed AFTER DELETE ON vectors BEGIN
    UPDATE collections SET embedded = embedded - 1 WHERE id = old.collection;
  END;

  CREATE TABLE entries (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- Names with the same \`nameKey\` are the same entry.
    name_key TEXT NOT NULL,
    version INTEGER NOT NULL,
    key TEXT NOT NULL,
    category TEXT NOT NULL,
    content TEXT NOT NULL,
    diagnosis TEXT,
    tags TEXT NOT NULL,
    provenance TEXT NOT NULL,
    call_key TEXT NOT NULL,
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, kind, name_key, version)
  ) STRICT;

  CREATE UNIQUE INDEX entries_by_call ON entries (tenant, owner, call_key);
  -- Entries are removed with the context that they were saved in.
  CREATE INDEX entries_by_context ON entries (tenant, owner, provenance ->> '$.contextId');
`;

/** The tables of an empty database. */
export const SCHEMA = [TASKS, PAYMENTS, GRAPH, VAULT, MEMORY, PUSH, LIBRARY].join('');
