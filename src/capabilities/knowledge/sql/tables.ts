import { toPostgres, type TableMigrations, type TableMove } from '../../../core/sql.js';
import { indexTextOf } from './index-terms.js';
import { passageTerms, type DescribedPassage } from './relevance.js';

/**
 * The knowledge graph. A name is stored once per owner, and a triple is four numbers: small enough that a million of them,
 * with an index for each kind of query, stay in memory. A source is a name like the others.
 */
const GRAPH = `
  CREATE TABLE IF NOT EXISTS graph_names (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (tenant, owner, key)
  ) STRICT;

  CREATE TABLE IF NOT EXISTS graph_triples (
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

  CREATE INDEX IF NOT EXISTS graph_by_object ON graph_triples (object, predicate, subject);
  CREATE INDEX IF NOT EXISTS graph_by_predicate ON graph_triples (predicate, object, subject);
  CREATE INDEX IF NOT EXISTS graph_by_source ON graph_triples (source);
  CREATE INDEX IF NOT EXISTS graph_by_context ON graph_triples (context) WHERE context > 0;
`;

/**
 * Documents, and the entries that agents saved. A row of `collections` is one collection of one owner. `passage_words` is the
 * text index. It stores no text, only terms and the passages that have them. Each term begins with the id of its collection
 * ("7~proxy", see text-search.ts), so a search never reads other collections, and a thousand passages take a tenth of a
 * millisecond. `entries` holds every version of an entry. The newest version is also a document, so that searches find it.
 * `json` is the type of a JSON object whose members are searched.
 */
const library = (json: string): string => `
  CREATE TABLE IF NOT EXISTS collections (
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

  CREATE TABLE IF NOT EXISTS documents (
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

  CREATE INDEX IF NOT EXISTS documents_unread ON documents (collection, id) WHERE reads_left > 0;

  -- Ids are never reused, so an id from an earlier search names the same passage or none.
  CREATE TABLE IF NOT EXISTS passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL,
    collection INTEGER NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    lines TEXT,
    heading TEXT NOT NULL,
    text TEXT NOT NULL,
    embedded INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  CREATE INDEX IF NOT EXISTS passages_by_document ON passages (document);
  CREATE INDEX IF NOT EXISTS passages_unembedded ON passages (collection) WHERE embedded = 0;

  CREATE TABLE IF NOT EXISTS entries (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- Names with the same nameKey are the same entry.
    name_key TEXT NOT NULL,
    version INTEGER NOT NULL,
    key TEXT NOT NULL,
    category TEXT NOT NULL,
    content TEXT NOT NULL,
    diagnosis TEXT,
    tags TEXT NOT NULL,
    provenance ${json} NOT NULL,
    call_key TEXT NOT NULL,
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, kind, name_key, version)
  ) STRICT;

  CREATE UNIQUE INDEX IF NOT EXISTS entries_by_call ON entries (tenant, owner, call_key);
`;

const SQLITE_ONLY = `
  CREATE VIRTUAL TABLE IF NOT EXISTS passage_words USING fts5(
    terms, content = '', contentless_delete = 1, detail = none,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co' tokenchars '~'"
  );
  CREATE VIRTUAL TABLE IF NOT EXISTS passage_terms USING fts5vocab(passage_words, row);

  CREATE TABLE IF NOT EXISTS vectors (
    passage INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    -- 32-bit floats, little-endian, of length 1.
    vector BLOB NOT NULL
  ) STRICT;

  CREATE INDEX IF NOT EXISTS vectors_by_collection ON vectors (collection);

  CREATE TRIGGER IF NOT EXISTS document_added AFTER INSERT ON documents BEGIN
    UPDATE collections SET documents = documents + 1, passages = passages + new.passages WHERE id = new.collection;
  END;
  CREATE TRIGGER IF NOT EXISTS document_removed AFTER DELETE ON documents BEGIN
    UPDATE collections SET documents = documents - 1, passages = passages - old.passages WHERE id = old.collection;
  END;
  CREATE TRIGGER IF NOT EXISTS vector_added AFTER INSERT ON vectors BEGIN
    UPDATE collections SET embedded = embedded + 1 WHERE id = new.collection;
  END;
  CREATE TRIGGER IF NOT EXISTS vector_removed AFTER DELETE ON vectors BEGIN
    UPDATE collections SET embedded = embedded - 1 WHERE id = old.collection;
  END;

  -- Entries are removed with the context that they were saved in.
  CREATE INDEX IF NOT EXISTS entries_by_context ON entries (tenant, owner, provenance ->> '$.contextId');
`;

const POSTGRES_ONLY = `
  -- The terms of a passage. Each begins with the id of its collection, as in SQLite: see index-terms.ts.
  CREATE TABLE IF NOT EXISTS passage_words (
    passage BIGINT PRIMARY KEY,
    words TSVECTOR NOT NULL
  );

  CREATE INDEX IF NOT EXISTS passages_by_word ON passage_words USING gin (words);

  CREATE TABLE IF NOT EXISTS vectors (
    passage BIGINT PRIMARY KEY,
    collection BIGINT NOT NULL,
    -- 32-bit floats, little-endian, of length 1.
    vector BYTEA NOT NULL,
    -- Rises with each write to the collection, so that another process reads what is new.
    stamp BIGINT GENERATED ALWAYS AS IDENTITY
  );

  CREATE INDEX IF NOT EXISTS vectors_by_collection ON vectors (collection, stamp);

  -- Once per statement: a row that is updated for each of many would be copied for each.
  CREATE OR REPLACE FUNCTION count_documents() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    UPDATE collections SET documents = collections.documents + change.documents,
        passages = collections.passages + change.passages
      FROM (SELECT collection, count(*) * sign AS documents, sum(passages) * sign AS passages
        FROM changed, (SELECT CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END AS sign) AS kind
        GROUP BY collection, sign) AS change
      WHERE id = change.collection;
    RETURN NULL;
  END $$;
  CREATE OR REPLACE TRIGGER documents_added AFTER INSERT ON documents
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_documents();
  CREATE OR REPLACE TRIGGER documents_removed AFTER DELETE ON documents
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_documents();

  CREATE OR REPLACE FUNCTION count_vectors() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    UPDATE collections SET embedded = embedded + change.vectors
      FROM (SELECT collection, count(*) * CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END AS vectors
        FROM changed GROUP BY collection) AS change
      WHERE id = change.collection;
    RETURN NULL;
  END $$;
  CREATE OR REPLACE TRIGGER vectors_added AFTER INSERT ON vectors
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_vectors();
  CREATE OR REPLACE TRIGGER vectors_removed AFTER DELETE ON vectors
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_vectors();

  -- Entries are removed with the context that they were saved in.
  CREATE INDEX IF NOT EXISTS entries_by_context ON entries USING hash ((provenance ->> 'contextId'));
`;

/** SQLite's index of words keeps no text that could be read from it, so PostgreSQL's is made from the passages. */
const WORDS: TableMove = {
  table: 'passage_words',
  derived: {
    columns: ['passage', 'words'],
    sql: `SELECT p.id, p.collection, p.heading, p.text, d.name, d.facts
      FROM passages p JOIN documents d ON d.id = p.document`,
    toFields: ({ id, collection, heading, facts, name, text }: PassageRow) => {
      const described = { name, text, heading: JSON.parse(heading) as string[] };
      const terms = passageTerms({ ...described, facts: JSON.parse(facts) as DescribedPassage['facts'] });
      return [String(id), indexTextOf(collection, terms)];
    },
    write: (parameter, column) =>
      column === 'words' ? `array_to_tsvector(string_to_array(${parameter}, ' '))` : `${parameter}::bigint`,
    read: (column) =>
      column === 'words' ? "array_to_string(tsvector_to_array(words), ' ')" : `"${column}"::text`,
    compared: ([passage, words]) => [passage!, [...new Set(words!.split(' '))].toSorted().join(' ')],
  },
};

/** `heading` and `facts` are JSON. */
type PassageRow = Readonly<
  Record<'id' | 'collection', number> & Record<'heading' | 'text' | 'name' | 'facts', string>
>;

export const KNOWLEDGE_TABLES: TableMigrations = {
  sqlite: [GRAPH + library('TEXT') + SQLITE_ONLY],
  postgres: [toPostgres(GRAPH + library('JSON')) + POSTGRES_ONLY],
  // Triggers of PostgreSQL count the documents, passages and vectors that it gets.
  moves: [{ table: 'collections', filled: ['documents', 'passages', 'embedded'] }, WORDS],
};
