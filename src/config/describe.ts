import type { Origin } from './layers.js';
import type { LoadedConfig } from './load.js';
import { leavesOf } from './schema-walk.js';

/** One key of the resolved configuration, fit for a log. */
export interface DescribedKey {
  /** "server.port", "a2a.remoteAgents[0].url". */
  readonly key: string;
  /** What holds; undefined when there is none. For a secret only "set" or "not set". */
  readonly value: unknown;
  readonly origin: Origin;
}

/** Every key with its value and where that came from, in the order of the reference. */
export function describeConfig({ config, origins }: LoadedConfig): readonly DescribedKey[] {
  return leavesOf()
    .flatMap(({ key, schema }) =>
      keysOf(key, config).map((one): DescribedKey => {
        const origin = origins.get(one) ?? 'default';
        if (schema.writeOnly) return { key: one, value: origins.has(one) ? 'set' : 'not set', origin };
        return { key: one, value: valueAt(config, one), origin };
      }),
    )
    .filter(({ value }) => !isListOfGroups(value));
}

/** "list[].name" once for each entry of the list; other keys as they are. */
function keysOf(key: string, config: unknown): readonly string[] {
  const [list, field] = key.split('[]');
  if (list === undefined || field === undefined) return [key];
  const entries = valueAt(config, list);
  return Array.isArray(entries) ? entries.map((_, index) => `${list}[${index}]${field}`) : [];
}

function valueAt(value: unknown, key: string): unknown {
  const steps = key.split(/[.[\]]+/).filter((step) => step !== '');
  return steps.reduce<unknown>(
    (inner, step) => (inner as Record<string, unknown> | undefined)?.[step],
    value,
  );
}

/** Its entries have lines of their own. */
function isListOfGroups(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((entry) => typeof entry === 'object');
}
