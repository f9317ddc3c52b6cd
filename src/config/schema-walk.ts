import { z } from 'zod';
import type { Path } from './problem.js';
import { settingsSchema } from './schema.js';

/** The part of JSON Schema that zod writes for the settings. */
export interface KeySchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly writeOnly?: boolean;
  readonly properties?: Readonly<Record<string, KeySchema>>;
  readonly required?: readonly string[];
  readonly items?: KeySchema;
  readonly anyOf?: readonly KeySchema[];
}

let cached: KeySchema | undefined;

/** The settings as JSON Schema, draft 2020-12. Made at first use: most starts never need it. */
export function rootSchema(): KeySchema {
  cached ??= z.toJSONSchema(settingsSchema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.properties !== undefined) delete jsonSchema.default;
    },
  }) as KeySchema;
  return cached;
}

/** All that a value at `path` may be; empty when there is no such key. */
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
  return typeof step === 'string' && Object.hasOwn(properties, step) ? properties[step] : undefined;
}

/** A key that holds a value, not further keys. List entries are written as `remoteAgents[].url`. */
export interface Leaf {
  readonly key: string;
  readonly schema: KeySchema;
  readonly required: boolean;
}

/** Every leaf in the order of the schema, the fields of list entries after their list. */
export function leavesOf(schema: KeySchema = rootSchema(), prefix = ''): readonly Leaf[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const key = prefix === '' ? name : `${prefix}.${name}`;
    if (child.properties !== undefined) return leavesOf(child, key);
    const required = schema.required?.includes(name) ?? false;
    const entries = alternatives(child).flatMap((one) => (one.items ? leavesOf(one.items, `${key}[]`) : []));
    return [{ key, schema: child, required }, ...entries];
  });
}
