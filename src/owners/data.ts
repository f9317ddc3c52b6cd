import { LangoError } from '../core/errors.js';
import type { Counts, OwnedData, OwnedKind } from '../core/page.js';
import type { SqlDatabase } from '../core/sql.js';
import type { Scope } from '../core/task.js';
import type { OwnerParts } from './service.js';
import type { OwnedTasks } from './tasks.js';

interface OwnedDataParts {
  readonly tasks: OwnedTasks;
  /** The data of capabilities. */
  readonly others: readonly OwnedData[];
  readonly database: Pick<SqlDatabase, 'purge'>;
}

type Forget = (scope: Scope, name: string) => Promise<Counts>;

export type DataHandlers = Pick<OwnerParts, 'listDataKinds' | 'readData' | 'forgetData' | 'deleteData'>;

/**
 * Implements the operations on everything kept for an owner besides secrets and records of money. Kinds that do not exist
 * are `not-found`.
 */
export function createOwnedData({ tasks, others, database }: OwnedDataParts): DataHandlers {
  const kinds: Record<string, OwnedKind> = { tasks: { list: (scope, after) => tasks.read(scope, after) } };
  const forgetting: Record<string, Forget> = {
    contexts: async (scope, id) => ({
      tasks: await tasks.removeContext(scope, id),
      ...(await countsOf(others, async (each) => (await each.forgetContext?.(scope, id)) ?? {})),
    }),
  };
  for (const [name, kind] of others.flatMap((each) => Object.entries(each.kinds))) {
    kinds[name] = kind;
    if (kind.forget) forgetting[name] = (scope, item) => kind.forget!(scope, item);
  }
  const purge = async () => {
    for (const each of others) await each.purge?.();
    await database.purge();
  };
  return {
    listDataKinds: async () => ({ kinds: Object.keys(kinds) }),
    readData: async ({ kind, after }, { scope }) => requireKind(kinds, kind).list(scope, after),
    /** Rejects with `not-found` when there was nothing to delete. */
    async forgetData({ kind, name }, { scope }) {
      const deleted = await requireKind(forgetting, kind)(scope, name);
      await purge();
      if (Object.values(deleted).some((count) => count > 0)) return { deleted };
      throw new LangoError('not-found', 'You have no data of that name.');
    },
    /** Called again after a failure, it deletes the rest. */
    async deleteData(_input, { scope }) {
      // Removes tasks first: a running task could save more data.
      const removed = await tasks.removeAll(scope);
      const counts = await countsOf(others, (each) => each.removeAll(scope));
      await purge();
      return { deleted: { tasks: removed, ...counts } };
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
