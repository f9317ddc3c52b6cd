import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { DOCUMENTS_PATH, openHomeDesk } from '../app.js';
import { loadConfig } from '../config/load.js';
import { LangoError, isLangoError } from '../core/errors.js';
import { KEPT_BY_AGENTS } from '../core/library.js';
import { silentLogger } from '../core/logger.js';
import type { Accepted, EmbeddingProgress, Submission } from '../core/library.js';
import type { CommandContext } from './command.js';
import type { Connection, ConnectionFlags } from './connection.js';
import { connect, overridesOf } from './connection.js';
import type { ServerRequest } from './server-request.js';
import { requestJson } from './server-request.js';

const documentSchema = z.object({
  collection: z.string(),
  origin: z.string(),
  name: z.string(),
  bytes: z.number(),
  modifiedAt: z.number(),
  passages: z.number(),
});

type ListedDocument = z.infer<typeof documentSchema>;

/** A person's own documents, whoever has the data folder open. */
export interface DocumentsWay {
  /** Size of a file that is taken. */
  maxBytes(): Promise<number>;
  list(collection: string | undefined): Promise<readonly ListedDocument[]>;
  submit(file: Submission): Promise<Accepted>;
  /** Without origins: the whole collection. */
  remove(collection: string, origins?: readonly string[]): Promise<number>;
  embed(): Promise<EmbeddingProgress>;
  dropVectors(collection: string | undefined): Promise<number>;
}

const PAGE = 500;
const REMOVED_AT_ONCE = 100;
/** A server that is asked too often says so; it is asked again so many times. */
const MOST_TRIES = 30;
const LONGEST_PAUSE_MS = 10_000;

/** The same choice as for secrets: the server that is named or runs, else the data folder itself. */
export async function withDocuments<T>(
  flags: ConnectionFlags,
  { env }: CommandContext,
  use: (way: DocumentsWay) => Promise<T>,
): Promise<T> {
  if ((flags.url ?? env.url) !== undefined) return use(overHttp(await connect(flags, env)));
  const loaded = await loadConfig({ env, overrides: overridesOf(flags) });
  const home = await openHomeDesk(loaded, silentLogger);
  if (!home) return use(overHttp(await connect(flags, env)));
  const { desk, scope } = home;
  const shelves = (collection: string | undefined) =>
    collection === undefined ? { except: KEPT_BY_AGENTS } : { only: [collection] };
  try {
    return await use({
      maxBytes: async () => desk.maxBytes,
      list: (collection) =>
        allPages((after) => desk.list(scope, { ...shelves(collection), limit: PAGE, ...after })),
      submit: (file) => desk.submit(scope, file),
      remove: (collection, origins) => desk.remove(scope, collection, origins),
      embed: () => desk.embed(scope, new AbortController().signal),
      dropVectors: (collection) =>
        desk.dropVectors(scope, collection === undefined ? {} : { only: [collection] }),
    });
  } finally {
    await home.close();
  }
}

interface Page {
  readonly documents: readonly ListedDocument[];
  readonly next?: string | undefined;
}

async function allPages(
  read: (after: { readonly after?: string }) => Promise<Page>,
): Promise<readonly ListedDocument[]> {
  const documents: ListedDocument[] = [];
  let next: string | undefined;
  do {
    const page = await read(next === undefined ? {} : { after: next });
    documents.push(...page.documents);
    next = page.next;
  } while (next !== undefined);
  return documents;
}

const pageSchema = z.object({
  documents: z.array(documentSchema),
  next: z.string().optional(),
  maxBytes: z.number(),
});
const acceptedSchema = z.union([
  z.object({ outcome: z.enum(['added', 'changed', 'unchanged']), passages: z.number() }),
  z.object({ outcome: z.literal('skipped'), reason: z.string() }),
]);
const progressSchema = z.object({ done: z.number(), more: z.boolean(), note: z.string().optional() });
const removedSchema = z.object({ removed: z.number() });
const droppedSchema = z.object({ dropped: z.number() });

function overHttp(connection: Connection): DocumentsWay {
  const ask = async <T>(schema: z.ZodType<T>, asked: ServerRequest): Promise<T> => {
    const answer = schema.safeParse(await patiently(() => requestJson(connection, asked)));
    if (answer.success) return answer.data;
    throw new LangoError('unavailable', 'The server gave an answer that could not be read.');
  };
  const page = (query: Readonly<Record<string, string>>) =>
    ask(pageSchema, { method: 'GET', path: `${DOCUMENTS_PATH}?${new URLSearchParams(query).toString()}` });
  const inCollection = (collection: string): string => `${DOCUMENTS_PATH}/${encodeURIComponent(collection)}`;
  return {
    maxBytes: async () => (await page({})).maxBytes,
    list: (collection) => allPages((after) => page({ ...(collection ? { collection } : {}), ...after })),
    submit({ collection, origin, name, modifiedAt, content }) {
      const query = new URLSearchParams({ origin, name, modifiedAt: String(modifiedAt) });
      const path = `${inCollection(collection)}?${query.toString()}`;
      return ask(acceptedSchema, { method: 'PUT', path, body: content });
    },
    async remove(collection, origins) {
      const path = inCollection(collection);
      const drop = async (body: unknown) =>
        (await ask(removedSchema, { method: 'DELETE', path, body })).removed;
      if (!origins) return drop({ all: true });
      let removed = 0;
      for (let at = 0; at < origins.length; at += REMOVED_AT_ONCE) {
        removed += await drop({ origins: origins.slice(at, at + REMOVED_AT_ONCE) });
      }
      return removed;
    },
    async embed() {
      const body = { action: 'embed' };
      const { note, ...progress } = await ask(progressSchema, { method: 'POST', path: DOCUMENTS_PATH, body });
      return { ...progress, note };
    },
    async dropVectors(collection) {
      const body = { action: 'drop-vectors', ...(collection ? { collections: [collection] } : {}) };
      return (await ask(droppedSchema, { method: 'POST', path: DOCUMENTS_PATH, body })).dropped;
    },
  };
}

/** What is asked for here can be asked again: it changes nothing the second time. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isLangoError(error, 'too-many') || tries >= MOST_TRIES) throw error;
      await sleep(Math.min(error.retryAfterMs ?? 1_000, LONGEST_PAUSE_MS));
    }
  }
}
