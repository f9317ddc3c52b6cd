import { LangoError } from '../core/errors.js';
import type { Counts, OwnedData, OwnedKind, Page } from '../core/page.js';
import type { SqlDatabase } from '../core/sql.js';
import type { Scope } from '../core/task.js';
import type { OwnedTasks } from './tasks.js';

/** Everything kept for an owner besides secrets and records of money, by kind. Kinds that do not exist are `not-found`. */
export interface AllOwnedData {
  readonly kinds: readonly string[];
  /** Reads one page. `after` is the `next` of the page before; '' for the first page. */
  read(scope: Scope, kind: string, after: string): Promise<Page<unknown>>;
  /** Resolves with the numbers of deleted entries. Rejects with `not-found` when there were none. */
  forget(scope: Scope, kind: string, name: string): Promise<Counts>;
  /** Resolves with the numbers of deleted entries. Called again after a failure, it deletes the rest. */
  removeAll(scope: Scope): Promise<Counts>;
}

export interface OwnedDataParts {
  readonly tasks: OwnedTasks;
  /** The data of capabilities. */
  readonly others: readonly OwnedData[];
  readonly database: Pick<SqlDatabase, 'purge'>;
}

type Forget = (scope: Scope, name: string) => Promise<Counts>;

export function createOwnedData({ tasks, others, database }: OwnedDataParts): AllOwnedData {
  const kinds: Readonly<Record<string, OwnedKind>> = Object.fromEntries([
    ['tasks', { list: (scope: Scope, after: string) => tasks.read(scope, after) }],
    ...others.flatMap((each) => Object.entries(each.kinds)),
  ]);
  const forgetting: Readonly<Record<string, Forget>> = {
    contexts: async (scope, id) => ({
      tasks: await tasks.removeContext(scope, id),
      ...(await countsOf(others, async (each) => (await each.forgetContext?.(scope, id)) ?? {})),
    }),
    ...Object.fromEntries(
      Object.entries(kinds).flatMap(([name, kind]) =>
        kind.forget ? [[name, (scope: Scope, item: string) => kind.forget!(scope, item)]] : [],
      ),
    ),
  };
  const purge = async () => {
    for (const each of others) await each.purge?.();
    await database.purge();
  };
  return {
    kinds: Object.keys(kinds),
    read: async (scope, kind, after) => requireKind(kinds, kind).list(scope, after),
    async forget(scope, kind, name) {
      const counts = await requireKind(forgetting, kind)(scope, name);
      await purge();
      if (Object.values(counts).some((count) => count > 0)) return counts;
      throw new LangoError('not-found', 'You have no data of that name.');
    },
    async removeAll(scope) {
      // Removes tasks first: a running task could save more data.
      const removed = await tasks.removeAll(scope);
      const counts = await countsOf(others, (each) => each.removeAll(scope));
      await purge();
      return { tasks: removed, ...counts };
    },
  };
}

/** Calls each part in turn. A repeated call after a failure continues. */
async function countsOf(
  parts: readonly OwnedData[],
  call: (part: OwnedData) => Promise<Counts>,
): Promise<Counts> {
  let counts: Counts = {};
  for (const part of parts) counts = { ...counts, ...(await call(part)) };
  return counts;
}

function requireKind<Found>(kinds: Readonly<Record<string, Found>>, kind: string): Found {
  const found = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (found !== undefined) return found;
  const hint = `Kinds: ${Object.keys(kinds).join(', ')}.`;
  throw new LangoError('not-found', 'There is no such kind of data here.', { hint });
}
