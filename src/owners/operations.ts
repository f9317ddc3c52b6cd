import { z } from 'zod';
import type { HttpEndpoint } from '../core/http.js';
import { SECRET_PLACES } from '../core/secrets.js';
import { VAULT_NAME } from '../core/vault.js';

/** One operation on the data of its caller. The server makes a route of it, and a client makes a call of it. */
export interface Operation {
  readonly method: HttpEndpoint['method'];
  /** Each segment that begins with a colon is a field of the input, as in express. */
  readonly path: string;
  /** The fields of the input that travel in the query string. */
  readonly query?: readonly string[];
  /** The field that is the body, as bytes. Without it the remaining fields are the body, as JSON. */
  readonly bytes?: string;
  /** The right in `auth.nodes[].may` of a trusted node, the only kind of caller of such an operation. */
  readonly right?: 'secrets' | 'skills';
  /** The fields of the input that the audit shows. */
  readonly audited?: readonly string[];
  readonly input: z.ZodObject;
  readonly result: z.ZodType;
}

const MAX_ORIGINS = 1_000;
const MAX_COLLECTIONS = 100;
const MAX_LEVELS = 5;
const MAX_TOOL_NAME = 64;
const MAX_HOST = 253;

const nothing = z.object({});
const counts = z.record(z.string(), z.number());
const texts = z.array(z.string()).readonly();

const permission = {
  places: z.array(z.enum(SECRET_PLACES)).readonly().default([]),
  hosts: texts.default([]),
};
const secretName = z.string().regex(VAULT_NAME, 'this cannot be the name of a secret');
const secret = z.object({
  name: z.string(),
  reference: z.string(),
  places: z.array(z.enum(SECRET_PLACES)).readonly(),
  hosts: texts,
  version: z.number(),
  createdAt: z.number(),
  updatedAt: z.number(),
  isDamaged: z.boolean().optional(),
});

const skill = z.object({ name: z.string(), version: z.string() });
const skillFile = z.object({ path: z.string(), base64: z.base64(), isExecutable: z.boolean() });

const document = z.object({
  collection: z.string(),
  origin: z.string(),
  name: z.string(),
  bytes: z.number(),
  modifiedAt: z.number(),
  passages: z.number(),
});
/** The outcome for a submitted file. */
const accepted = z.union([
  z.object({ outcome: z.enum(['added', 'changed', 'unchanged']), passages: z.number() }),
  z.object({ outcome: z.literal('skipped'), reason: z.string() }),
]);

const tokens = z.number();
/** A row of a bill. Without `cost`, the model had no price. */
const billRow = z.object({
  day: z.string(),
  node: z.string(),
  agent: z.string(),
  model: z.string(),
  ...{ input: tokens, output: tokens, cached: tokens, written: tokens.exactOptional() },
  currency: z.string(),
  cost: z.number().exactOptional(),
});

/** Times are milliseconds since 1970; without `endedAt` the work goes on. */
const span = z.object({
  id: z.string(),
  parent: z.string().exactOptional(),
  kind: z.enum(['server', 'client', 'internal']),
  name: z.string(),
  startedAt: z.number(),
  endedAt: z.number().exactOptional(),
  attributes: z.record(z.string(), z.union([z.string(), z.number(), texts])),
});

const agentStatus = z.object({
  name: z.string(),
  kind: z.enum(['local', 'remote']),
  url: z.string().optional(),
  state: z.enum(['ready', 'degraded', 'open', 'held', 'skipped']),
  since: z.string().optional(),
  reason: z.string().optional(),
  hint: z.string().optional(),
  description: z.string().optional(),
  skills: z.array(z.object({ name: z.string() })).readonly(),
});
const familyStatus = z.object({
  name: z.string(),
  state: z.enum(['on', 'off', 'missing']),
  note: z.string().optional(),
  hint: z.string().optional(),
});
const finding = z.object({
  code: z.string(),
  subject: z.string(),
  state: z.enum(['ok', 'warn']),
  text: z.string(),
  hint: z.string().optional(),
});
const cardFinding = z.object({
  severity: z.enum(['error', 'warning']),
  /** The place in the card; empty for the card as a whole. It is the subject of `text`. */
  path: z.string(),
  text: z.string(),
});
const nodeStatus = z.object({
  root: z.string(),
  model: z.string(),
  published: texts,
  peers: z.array(agentStatus).readonly(),
  families: z.array(familyStatus).readonly().default([]),
  findings: z.array(finding).readonly().default([]),
});

/** The status of a node: its agents, tool families and findings. */
export type NodeStatus = z.output<typeof nodeStatus>;
export type AgentStatus = z.output<typeof agentStatus>;

/**
 * All operations of owners on their data. Paths, inputs and results are the wire format of `/lango/...`, which
 * clients of other versions use: add optional fields, never change an existing one. No result holds a private key, and none
 * but that of `useSecret` the value of a secret.
 */
export const OPERATIONS = {
  listSecrets: {
    method: 'get',
    path: '/lango/secrets',
    input: nothing,
    result: z.object({ secrets: z.array(secret).readonly() }),
  },
  storeSecret: {
    method: 'put',
    path: '/lango/secrets/:name',
    input: z.object({
      name: secretName,
      value: z.string(),
      ...permission,
      replace: z.boolean().default(false),
    }),
    result: z.object({ secret }),
  },
  /** Replaces the places and hosts that the secret may be sent to. */
  allowSecret: {
    method: 'patch',
    path: '/lango/secrets/:name',
    input: z.object({ name: secretName, ...permission }),
    result: z.object({ secret }),
  },
  deleteSecret: {
    method: 'delete',
    path: '/lango/secrets/:name',
    input: z.object({ name: secretName }),
    result: z.object({ deleted: z.string(), isRevoked: z.boolean().optional(), why: z.string().optional() }),
  },

  /** Gives a trusted node the value for one use that the owner allowed; never for a page, which would keep it. */
  useSecret: {
    method: 'post',
    path: '/lango/secrets/:name/use',
    right: 'secrets',
    audited: ['name', 'place', 'host'],
    input: z.object({
      name: secretName,
      tool: z.string().max(MAX_TOOL_NAME),
      place: z.enum(['exec', 'http']),
      host: z.string().max(MAX_HOST).optional(),
    }),
    result: z.object({ value: z.string() }),
  },

  /** Lists the skills that the owner saved; without them when their version is the one that the caller has. */
  listSkills: {
    method: 'get',
    path: '/lango/skills',
    right: 'skills',
    query: ['unless'],
    input: z.object({ unless: z.string().optional() }),
    result: z.object({ version: z.string(), skills: z.array(skill).readonly().optional() }),
  },
  /** Reads some files of a skill; `after` is the `next` of the page before. */
  readSkill: {
    method: 'get',
    path: '/lango/skills/:name',
    right: 'skills',
    query: ['after'],
    input: z.object({ name: z.string(), after: z.string().default('') }),
    result: z.object({ files: z.array(skillFile).readonly(), next: z.string().optional() }),
  },

  readWallet: {
    method: 'get',
    path: '/lango/wallet',
    input: nothing,
    result: z.object({ address: z.string() }),
  },
  importWallet: {
    method: 'put',
    path: '/lango/wallet',
    input: z.object({ privateKey: z.string(), replace: z.boolean().default(false) }),
    result: z.object({ address: z.string() }),
  },

  /** Without a collection, lists the documents of all collections except those that agents write to. */
  listDocuments: {
    method: 'get',
    path: '/lango/documents',
    query: ['collection', 'after'],
    input: z.object({
      collection: z.union([z.string().transform((name) => [name]), texts]).optional(),
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
    method: 'put',
    path: '/lango/documents/:collection',
    query: ['origin', 'name', 'modifiedAt'],
    bytes: 'content',
    input: z.object({
      collection: z.string(),
      origin: z.string().default(''),
      name: z.string().default(''),
      /** Milliseconds since 1970. */
      modifiedAt: z.coerce.number<number | string>().int().nonnegative().default(0),
      content: z.custom<Buffer>((value) => Buffer.isBuffer(value)),
    }),
    result: accepted,
  },
  removeDocuments: {
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
    method: 'post',
    path: '/lango/documents',
    input: z.object({
      action: z.enum(['embed', 'drop-vectors']),
      collections: z.array(z.string()).max(MAX_COLLECTIONS).readonly().optional(),
    }),
    result: z.object({
      dropped: z.number().default(0),
      done: z.number().default(0),
      /** Whether there may be more to do. */
      more: z.boolean().default(false),
      /** Why no more vectors are made, as a sentence. */
      note: z.string().optional(),
    }),
  },

  listDataKinds: {
    method: 'get',
    path: '/lango/data',
    input: nothing,
    result: z.object({ kinds: texts }),
  },
  /** Reads one page; `after` is the `next` of the page before. */
  readData: {
    method: 'get',
    path: '/lango/data/:kind',
    query: ['after'],
    input: z.object({ kind: z.string(), after: z.string().default('') }),
    result: z.object({ items: z.array(z.unknown()).readonly(), next: z.string().optional() }),
  },
  forgetData: {
    method: 'delete',
    path: '/lango/data/:kind',
    query: ['name'],
    input: z.object({ kind: z.string(), name: z.string().regex(/\S/, 'say what is to be forgotten') }),
    result: z.object({ deleted: counts }),
  },
  /** Deletes all data of the caller except secrets and payments. */
  deleteData: {
    method: 'delete',
    path: '/lango/data',
    input: nothing,
    result: z.object({ deleted: counts }),
  },

  /** Reads one page; `after` is the `next` of the page before. Rows of one day may be on several pages. */
  readBill: {
    method: 'get',
    path: '/lango/bill',
    query: ['after'],
    input: z.object({ after: z.string().default('') }),
    result: z.object({ rows: z.array(billRow).readonly(), next: z.string().optional() }),
  },

  /** Reads the spans of a task and of the tasks below it, over a chain of at most `levels` further nodes. */
  readTrace: {
    method: 'get',
    path: '/lango/tasks/:taskId/trace',
    query: ['levels'],
    input: z.object({
      taskId: z.string(),
      levels: z.coerce.number<number | string>().int().min(0).max(MAX_LEVELS).default(MAX_LEVELS),
    }),
    result: z.object({ traceId: z.string(), spans: z.array(span).readonly(), isCut: z.boolean() }),
  },

  /**
   * Lists the other owners of tasks; for operators. They read an owner's tasks and data with the header `Lango-Owner`, which is
   * `owner` and `tenant` as in a query string.
   */
  listOwners: {
    method: 'get',
    path: '/lango/owners',
    query: ['tenant', 'owner'],
    input: z.object({ tenant: z.string().default(''), owner: z.string().default('') }),
    result: z.object({
      owners: z.array(z.object({ tenant: z.string(), owner: z.string() })).readonly(),
      isLast: z.boolean(),
    }),
  },

  /** Reads the card of an agent, local or remote, with its defects. */
  readCard: {
    method: 'get',
    path: '/lango/agents/:name/card',
    input: z.object({ name: z.string() }),
    result: z.object({ card: z.record(z.string(), z.unknown()), findings: z.array(cardFinding).readonly() }),
  },
  readStatus: {
    method: 'get',
    path: '/lango/agents',
    input: nothing,
    result: nodeStatus,
  },
  /** Adds a remote agent, which is kept over restarts; for operators. The fields are those of `a2a.remoteAgents`. */
  addAgent: {
    method: 'post',
    path: '/lango/agents',
    input: z.strictObject({
      name: z.string(),
      url: z.string(),
      token: z.string().optional(),
      auth: z.record(z.string(), z.unknown()).optional(),
      allowPrivate: z.boolean().optional(),
      relocate: z.boolean().optional(),
      owners: z.enum(['forward', 'shared']).optional(),
      audience: z.string().optional(),
      verify: z.record(z.string(), z.string()).optional(),
    }),
    result: z.object({ agent: agentStatus }),
  },
  /** Removes an agent that was added; for operators. It gets no new work, and its current tasks end normally. */
  removeAgent: {
    method: 'delete',
    path: '/lango/agents/:name',
    input: z.object({ name: z.string() }),
    result: z.object({ removed: z.string() }),
  },
} as const satisfies Readonly<Record<string, Operation>>;

type Operations = typeof OPERATIONS;
export type OperationName = keyof Operations;
/** The input of a caller, before defaults are applied. */
export type InputOf<Name extends OperationName> = z.input<Operations[Name]['input']>;
export type ResultOf<Name extends OperationName> = z.output<Operations[Name]['result']>;
/** The checked input of an implementation, with defaults. */
export type CheckedInput<Name extends OperationName> = z.output<Operations[Name]['input']>;
/** The result that an implementation returns. */
export type Answer<Name extends OperationName> = z.input<Operations[Name]['result']>;

/** Whether some fields of the input travel in a JSON body. */
export function hasJsonBody({ path, query = [], bytes, input }: Operation): boolean {
  const fields = Object.keys(input.shape).filter(
    (field) => !query.includes(field) && !path.includes(`:${field}`),
  );
  return bytes === undefined && fields.length > 0;
}
