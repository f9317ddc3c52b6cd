import { keyOf, type Path } from '../core/findings.js';
import { z } from 'zod';
import type { ShippedGroups } from '../capabilities/index.js';
import type { Capability } from '../core/capability.js';
import { LangoError } from '../core/errors.js';
import { group, list, text } from '../core/fields.js';
import { a2aKeys, type Kinds } from './a2a-keys.js';
import { agent } from './agent-keys.js';
import {
  approval,
  disk,
  egress,
  evaluations,
  logging,
  mcp,
  metrics,
  parsing,
  storage,
  tasks,
} from './host-keys.js';
import { node, telemetry, webConsole, workspace } from './host-keys.js';
import { bill, model, prices } from './model-keys.js';
import { authKeys, EVERY_RIGHT, OPERATE, server } from './server-keys.js';

const capabilities = list(
  z.array(text()),
  'Packages with further capabilities, such as `@example/notes`; see [Write a capability](../guides/write-a-capability.md). They run with all rights of this server.',
);

/** The keys of the server itself, before and after those of capabilities, which bring `kinds` of data. */
const firstKeys = (kinds: Kinds) => ({
  ...{ agent, model, prices, bill, server, auth: authKeys(kinds), a2a: a2aKeys(kinds) },
  ...{ node, capabilities, storage, tasks, evaluations, workspace, disk },
});
type First = ReturnType<typeof firstKeys>;
const LAST = { parsing, approval, egress, console: webConsole, metrics, telemetry, logging };
/** Groups that several capabilities share. */
const SHARED = { tools: group('The tool families.', {}), mcp };

type OwnSchema = z.ZodObject<First & typeof SHARED & typeof LAST, z.core.$strict>;

/** The settings of shipped capabilities at places of one step, and those at places "NAME.member". */
type TopInput = {
  readonly [Place in keyof ShippedGroups as Place extends `${string}.${string}` ? never : Place]?: z.input<
    ShippedGroups[Place]
  >;
};
type MemberInput<Name extends string> = {
  readonly [
    Place in keyof ShippedGroups as Place extends `${Name}.${infer Member}` ? Member : never
  ]?: z.input<ShippedGroups[Place]>;
};

/** Settings of a file or of a program, by their keys. Every key is optional. Those of further capabilities have no types. */
export type SettingsInput = Omit<z.input<OwnSchema>, keyof typeof SHARED> &
  TopInput & {
    readonly tools?: MemberInput<'tools'>;
    readonly mcp?: z.input<typeof mcp> & MemberInput<'mcp'>;
  } & Readonly<Record<string, unknown>>;
/** The checked settings of the server itself, with their defaults. They still hold secrets. */
export type Settings = z.output<OwnSchema>;

/** Every key of the configuration file, with its check, its default and its description. */
export class SettingsSchema {
  readonly zod: z.ZodObject;
  readonly capabilities: readonly Capability[];
  #json: KeySchema | undefined;

  /** Throws `conflict` when two capabilities have settings at one place, or keep one kind of data. */
  constructor(given: readonly Capability[]) {
    this.capabilities = given;
    const first = firstKeys(kindsOf(given));
    const groups = new Map<string, z.ZodType>(Object.entries(SHARED));
    for (const [place, schema] of given.flatMap(({ settings = {} }) => Object.entries(settings)))
      addGroup({ groups, taken: { ...first, ...LAST } }, place, schema);
    this.zod = z.strictObject({ ...first, ...Object.fromEntries(groups), ...LAST });
  }

  /** The settings as JSON Schema, draft 2020-12. Generated at first use, because most starts do not need it. */
  get json(): KeySchema {
    this.#json ??= z.toJSONSchema(this.zod, {
      io: 'input',
      override: ({ jsonSchema }) => {
        if (jsonSchema.properties !== undefined) delete jsonSchema.default;
      },
    }) as KeySchema;
    return this.#json;
  }

  isSecret(path: Path): boolean {
    return schemasAt(path, this.json).some(({ writeOnly }) => writeOnly === true);
  }

  /** Whether stored data cannot be read without the secret of this key. */
  opensData(key: string): boolean {
    const variables = this.capabilities.flatMap(({ variables = [] }) => variables);
    return variables.some(({ path, opensData }) => opensData === true && keyOf(path) === key);
  }
}

function kindsOf(given: readonly Capability[]): Kinds {
  const kinds = given.flatMap(({ keeps = {} }) => Object.entries(keeps));
  const names = [EVERY_RIGHT, OPERATE, ...kinds.map(([kind]) => kind)];
  const twice = names.find((kind, index) => names.indexOf(kind) !== index);
  if (twice === undefined) return kinds;
  throw new LangoError('conflict', `Two capabilities keep data of the kind ${twice}.`);
}

interface Groups {
  readonly groups: Map<string, z.ZodType>;
  /** The groups of the server itself. */
  readonly taken: object;
}

function addGroup({ groups, taken }: Groups, place: string, schema: z.ZodType): void {
  const [name = '', member] = place.split('.');
  const outer = groups.get(name);
  const members = outer && member !== undefined && (outer as z.ZodPrefault<z.ZodObject>).unwrap().shape;
  const isTaken = member === undefined ? name in taken || outer : members && member in members;
  if (isTaken) throw new LangoError('conflict', `Two capabilities have settings at ${place}.`);
  const whole =
    member === undefined ? schema : group(outer?.description ?? '', { ...members, [member]: schema });
  groups.set(name, whole);
}

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

/** The schemas that a value at `path` may match. Empty if there is no such key. */
export function schemasAt(path: Path, root: KeySchema): readonly KeySchema[] {
  return path.reduce<readonly KeySchema[]>(
    (schemas, step) => schemas.flatMap((schema) => alternatives(childOf(schema, step))),
    alternatives(root),
  );
}

export function alternatives(schema: KeySchema | undefined): readonly KeySchema[] {
  return schema?.anyOf ?? (schema ? [schema] : []);
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

/** A key that holds a value. Keys of list entries are as `remoteAgents[].url`, those of map entries as `servers.NAME.url`. */
export type Leaf = Readonly<{ key: string; schema: KeySchema; required: boolean }>;

/** Stands for the name of a map entry. */
export const ENTRY = 'NAME';

/** Every leaf in the order of the schema. The fields of list entries follow their list. */
export function leavesOf(schema: KeySchema, prefix = ''): readonly Leaf[] {
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
