import { silentLogger } from '../core/logger.js';
import type { OperationClient, OperationTable } from '../core/operation.js';
import { connect, loadConfigOf, type ConnectionFlags, type Where } from './connection.js';
import { usageError } from '../terminal/exit.js';
import { ask } from './explain.js';

export interface OwnerFlags extends ConnectionFlags {
  /** The owner of the data in a data folder. Default: the owner of the server's own token. */
  readonly owner?: string;
}

/**
 * Calls `use` with a client of these operations on the owner's data: on the server that `--url` or LANGO_URL names, else on the server that has
 * the data folder open, else in the data folder itself.
 */
export async function withOwner<Table extends OperationTable, T>(
  table: Table,
  { flags, env }: Where<OwnerFlags>,
  use: (owner: OperationClient<Table>) => Promise<T>,
): Promise<T> {
  const askServer = async (): Promise<T> => {
    if (flags.owner !== undefined)
      throw usageError(
        '--owner is for a data folder that no server has open: a server knows you by your token.',
        'Stop the server, or leave --owner out.',
      );
    const connection = await connect({ flags, env });
    return ask(connection, use(connection.ownerOf(table)));
  };
  if ((flags.url ?? env.url) !== undefined) return askServer();
  const loaded = await loadConfigOf({ flags, env });
  const { openHome } = await import('../app.js');
  await using home = await openHome(loaded, { logger: silentLogger, owner: flags.owner });
  return home ? await use(home.client(table)) : askServer();
}
