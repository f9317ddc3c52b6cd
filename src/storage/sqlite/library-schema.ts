/**
 * A shelf is one collection of one owner. `passage_words` holds no text but the terms of `index-terms.ts`, each behind
 * the number of its shelf ("7~proxy") and no more of them than which passages have it: a search never walks what lies on
 * other shelves, and a thousand passages take a tenth of a millisecond. What an entry was in
 * each version is in `entries`; the newest one lies on a shelf too, to be found.
 */
export const LIBRARY_SCHEMA = `
  CREATE TABLE shelves (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    collection TEXT NOT NULL,
    -- The embedding of its vectors; empty and 0 while there are none.
    model TEXT NOT NULL DEFAULT '',
    dimension INTEGER NOT NULL DEFAULT 0,
    -- How many lie on it, kept by triggers.
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

  -- Ids are never used again: what was found a moment ago is that passage or none.
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

/** What was saved in a context goes with it. */
export const FORGETTING_SCHEMA = `
  CREATE INDEX entries_by_context ON entries (tenant, owner, provenance ->> '$.contextId');
`;
