import { valueAt } from './config.js';
import type { Origin } from './layers.js';
import type { LoadedConfig } from './load.js';
import { ENTRY, leavesOf } from './schema.js';

/** One key of the resolved configuration. May be logged. */
interface DescribedKey {
  /** "server.port", "a2a.remoteAgents[0].url". */
  readonly key: string;
  /** The value in effect; undefined if there is none. For a secret, only "set" or "not set". */
  readonly value: unknown;
  readonly origin: Origin;
}

/** Every key with its value and the origin of the value, in the order of the reference. */
export function describeConfig({ config, schema, origins }: LoadedConfig): readonly DescribedKey[] {
  // A map of secrets is set when one of its entries is.
  const setKeys = new Set([...origins.keys()].flatMap((key) => [key, ...groupsAround(key)]));
  return leavesOf(schema.json)
    .flatMap(({ key, schema }) =>
      keysOf(key, config).map((one): DescribedKey => {
        const origin = origins.get(one) ?? 'default';
        if (!schema.writeOnly) return { key: one, value: valueAt(config, one), origin };
        return { key: one, value: setKeys.has(one) ? 'set' : 'not set', origin };
      }),
    )
    .filter(({ value }) => !isListOfGroups(value));
}

/** "a" and "a.b" for "a.b.c". */
function groupsAround(key: string): readonly string[] {
  return [...key.matchAll(/\./g)].map(({ index }) => key.slice(0, index));
}

/** "list[].name" or "map.NAME.name" once for each entry; any other key unchanged. */
function keysOf(key: string, config: unknown): readonly string[] {
  const [map = '', member] = key.split(`.${ENTRY}.`);
  if (member !== undefined) {
    const names = Object.keys(valueAt(config, map) ?? {});
    return names.flatMap((name) => keysOf(`${map}.${name}.${member}`, config));
  }
  const [list = '', field] = key.split('[]');
  if (field === undefined) return [key];
  const entries = valueAt(config, list);
  return Array.isArray(entries) ? entries.map((_, index) => `${list}[${index}]${field}`) : [];
}

/** True for a list or a map whose entries are described key by key. */
function isListOfGroups(value: unknown): boolean {
  const entries = typeof value === 'object' && value !== null ? Object.values(value) : [];
  return entries.length > 0 && entries.every((entry) => typeof entry === 'object');
}

/** The keys whose values differ, without those of `except`. A list of groups counts as one key. */
export function changedKeys(before: LoadedConfig, after: LoadedConfig, except?: ReadonlySet<string>) {
  const [old, now] = [valuesOf(before, except), valuesOf(after, except)];
  const keys = [...new Set([...now.keys(), ...old.keys()])];
  return keys.filter((key) => old.get(key) !== now.get(key));
}

/** The value of each key as text, for comparison. Holds secrets, so it must not be logged. */
function valuesOf({ schema, settings }: LoadedConfig, except: ReadonlySet<string> = new Set()) {
  const leaves = [...new Set(leavesOf(schema.json).map(({ key }) => key.replace(/\[.*/, '')))];
  const ofEntries = new Set(leaves.flatMap((key) => key.split(`.${ENTRY}.`).slice(0, -1)));
  const keys = leaves
    .filter((key) => !except.has(key) && !ofEntries.has(key))
    .flatMap((key) => keysOf(key, settings));
  return new Map(keys.map((key) => [key, JSON.stringify(valueAt(settings, key))]));
}
