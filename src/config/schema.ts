import { z } from 'zod';
import { a2a } from './a2a-keys.js';
import { agent } from './agent-keys.js';
import {
  approval,
  disk,
  egress,
  logging,
  storage,
  tasks,
  vault,
  metrics,
  telemetry,
  webConsole,
  workspace,
} from './host-keys.js';
import { embedding, graph, ingest, observationalMemory, parsing, webSearch } from './knowledge-keys.js';
import { mcp } from './mcp-keys.js';
import { bill, model, prices } from './model-keys.js';
import { auth, server } from './server-keys.js';
import { payment, tools } from './tool-keys.js';

/** Every key of the configuration file, with its check, its default and its description. */
export const settingsSchema = z.strictObject({
  agent,
  model,
  prices,
  bill,
  server,
  auth,
  a2a,
  storage,
  tasks,
  workspace,
  disk,
  vault,
  tools,
  mcp,
  graph,
  observationalMemory,
  payment,
  embedding,
  ingest,
  parsing,
  webSearch,
  approval,
  egress,
  console: webConsole,
  metrics,
  telemetry,
  logging,
});

/** The settings of a file or of a program that starts the server. Every key is optional. */
export type SettingsInput = z.input<typeof settingsSchema>;
/** The checked settings with their defaults. They still hold secrets. */
export type Settings = z.output<typeof settingsSchema>;

/** The path to a value: keys and list positions, outermost first. */
export type Path = readonly PropertyKey[];

/** The subset of JSON Schema that zod generates for the settings. */
export interface KeySchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly writeOnly?: boolean;
  readonly properties?: Readonly<Record<string, KeySchema>>;
  readonly required?: readonly string[];
  readonly items?: KeySchema;
  /** In a map: the schema of its values. */
  readonly additionalProperties?: KeySchema | boolean;
  readonly anyOf?: readonly KeySchema[];
}

let cached: KeySchema | undefined;

/** Returns the settings as JSON Schema, draft 2020-12. Generated at first use, because most starts do not need it. */
export function rootSchema(): KeySchema {
  cached ??= z.toJSONSchema(settingsSchema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.properties !== undefined) delete jsonSchema.default;
    },
  }) as KeySchema;
  return cached;
}

/** The schemas that a value at `path` may match. Empty if there is no such key. */
export function schemasAt(path: Path, root: KeySchema = rootSchema()): readonly KeySchema[] {
  return path.reduce<readonly KeySchema[]>(
    (schemas, step) => schemas.flatMap((schema) => alternatives(childOf(schema, step))),
    alternatives(root),
  );
}

export function alternatives(schema: KeySchema | undefined): readonly KeySchema[] {
  if (schema === undefined) return [];
  return schema.anyOf ?? [schema];
}

function childOf(schema: KeySchema, step: PropertyKey): KeySchema | undefined {
  if (typeof step === 'number') return schema.items;
  const properties = schema.properties ?? {};
  if (typeof step !== 'string') return undefined;
  return Object.hasOwn(properties, step) ? properties[step] : valuesOf(schema);
}

/** The schema of the values of a map; undefined for any other schema. */
export function valuesOf({ additionalProperties }: KeySchema): KeySchema | undefined {
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

/**
 * A key that holds a value, not further keys. Keys of list entries are written as `remoteAgents[].url`, those of map
 * entries as `servers.NAME.url`.
 */
export interface Leaf {
  readonly key: string;
  readonly schema: KeySchema;
  readonly required: boolean;
}

/** Stands for the name of a map entry. */
export const ENTRY = 'NAME';

/** Every leaf in the order of the schema. The fields of list entries follow their list. */
export function leavesOf(schema: KeySchema = rootSchema(), prefix = ''): readonly Leaf[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const key = prefix === '' ? name : `${prefix}.${name}`;
    if (child.properties !== undefined) return leavesOf(child, key);
    const required = schema.required?.includes(name) ?? false;
    const entries = [
      ...alternatives(child).flatMap(({ items }) => entriesOf(items, `${key}[]`)),
      ...entriesOf(valuesOf(child), `${key}.${ENTRY}`),
    ];
    return [{ key, schema: child, required }, ...entries];
  });
}

function entriesOf(schema: KeySchema | undefined, prefix: string): readonly Leaf[] {
  return alternatives(schema).flatMap((one) => leavesOf(one, prefix));
}
