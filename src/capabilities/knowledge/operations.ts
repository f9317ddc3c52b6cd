import { z } from 'zod';
import type { OperationTable } from '../../core/operation.js';

const MAX_ORIGINS = 1_000;
const MAX_COLLECTIONS = 100;
const ON_DOCUMENTS = {
  keptBy: { what: 'Documents', kind: 'documents', tools: ['search_documents'] },
  isRepeated: true,
} as const;

const document = z.object({
  collection: z.string(),
  origin: z.string(),
  name: z.string(),
  bytes: z.number(),
  modifiedAt: z.number(),
  passages: z.number(),
});
/** A file to ingest. */
const submission = z.object({
  collection: z.string(),
  /** The address of the file. */
  origin: z.string().default(''),
  /** The name in citations. Its extension gives the format. */
  name: z.string().default(''),
  /** Milliseconds since 1970. */
  modifiedAt: z.coerce.number<number | string>().int().nonnegative().default(0),
  content: z.custom<Buffer>((value) => Buffer.isBuffer(value)),
});
/** The outcome for a submitted file. Of a skipped one nothing is kept, and an earlier document of that origin is removed. */
const accepted = z.union([
  z.object({ outcome: z.enum(['added', 'changed', 'unchanged']), passages: z.number() }),
  z.object({ outcome: z.literal('skipped'), reason: z.string() }),
]);
const embedded = z.object({
  done: z.number().default(0),
  /** Whether there may be more to do. */
  more: z.boolean().default(false),
  /** Why no more vectors are made, as a sentence. */
  note: z.string().optional(),
});

export type Submission = z.output<typeof submission>;
export type EmbeddingProgress = z.output<typeof embedded>;

/** The operations of owners on their documents. */
export const KNOWLEDGE_OPERATIONS = {
  /** Without a collection, lists the documents of all collections except those that agents write to. */
  listDocuments: {
    ...ON_DOCUMENTS,
    method: 'get',
    path: '/lango/documents',
    query: ['collection', 'after'],
    input: z.object({
      collection: z
        .union([z.string().transform((name) => [name]), z.array(z.string()).readonly()])
        .optional(),
      after: z.string().optional(),
    }),
    result: z.object({
      documents: z.array(document).readonly(),
      next: z.string().optional(),
      /** The size of the largest file that `submitDocument` takes. */
      maxBytes: z.number(),
    }),
  },
  submitDocument: {
    ...ON_DOCUMENTS,
    method: 'put',
    path: '/lango/documents/:collection',
    query: ['origin', 'name', 'modifiedAt'],
    bytes: 'content',
    input: submission,
    result: accepted,
  },
  removeDocuments: {
    ...ON_DOCUMENTS,
    method: 'delete',
    path: '/lango/documents/:collection',
    input: z
      .object({
        collection: z.string(),
        all: z.boolean().default(false),
        origins: z.array(z.string()).max(MAX_ORIGINS).readonly().optional(),
      })
      .refine(({ all, origins }) => all || origins !== undefined, {
        path: ['origins'],
        message: 'name the documents, or set "all" to true',
      }),
    result: z.object({ removed: z.number() }),
  },
  /** `embed` makes some of the missing vectors. `drop-vectors` removes all vectors, so that `embed` makes them again. */
  updateVectors: {
    ...ON_DOCUMENTS,
    method: 'post',
    path: '/lango/documents',
    input: z.object({
      action: z.enum(['embed', 'drop-vectors']),
      collections: z.array(z.string()).max(MAX_COLLECTIONS).readonly().optional(),
    }),
    result: z.object({ dropped: z.number().default(0), ...embedded.shape }),
  },
} as const satisfies OperationTable;
