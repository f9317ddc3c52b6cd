import { describeConfig } from './describe.js';
import type { LoadedConfig } from './load.js';
import { valuesByKey } from './secrets.js';

/** The keys whose values differ; a list of groups is one key. */
export function changedKeys(before: LoadedConfig, after: LoadedConfig): readonly string[] {
  const [old, now] = [valuesOf(before), valuesOf(after)];
  const keys = [...new Set([...now.keys(), ...old.keys()])];
  return keys.filter((key) => old.get(key) !== now.get(key));
}

/** Each key's value as text. Holds secrets: only to be compared. */
function valuesOf(loaded: LoadedConfig): ReadonlyMap<string, string> {
  const rows = Map.groupBy(describeConfig(loaded), ({ key }) => key.replace(/\[.*/, ''));
  const plain = [...rows].map(([key, entries]): [string, string] => [
    key,
    JSON.stringify(entries.map(({ key: at, value }) => [at, value])),
  ]);
  return new Map([...plain, ...valuesByKey(loaded.secrets)]);
}
