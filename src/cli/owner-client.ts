import type { Call } from './call.js';
import { silentLogger } from '../core/logger.js';
import type { OperationClient, OperationTable } from '../core/operation.js';
import { SERVER_OPERATIONS, type ServerOperations } from '../owners/operations.js';
import { connect, loadConfigOf, type ConnectionFlags } from './connection.js';
import { usageError } from '../terminal/exit.js';
import { ask } from './explain.js';

export interface OwnerFlags extends ConnectionFlags {
  /** The owner of the data in a data folder. Default: the owner of the server's own token. */
  readonly owner?: string;
}

/** Calls `use` with a client of the operations of the server itself. See `withOwnerOf`. */
export function withOwner<T>(
  call: Pick<Call<OwnerFlags>, 'flags' | 'env'>,
  use: (owner: OperationClient<ServerOperations>) => Promise<T>,
): Promise<T> {
  return withOwnerOf(SERVER_OPERATIONS, call, use);
}

/**
 * Calls `use` with a client of these operations on the owner's data: on the server that `--url` or LANGO_URL names, else on the server that has
 * the data folder open, else in the data folder itself.
 */
export async function withOwnerOf<Table extends OperationTable, T>(
  table: Table,
  { flags, env }: Pick<Call<OwnerFlags>, 'flags' | 'env'>,
  use: (owner: OperationClient<Table>) => Promise<T>,
): Promise<T> {
  const askServer = async (): Promise<T> => {
    if (flags.owner !== undefined) {
      throw usageError(
        '--owner is for a data folder that no server has open: a server knows you by your token.',
        'Stop the server, or leave --owner out.',
      );
    }
    const connection = await connect({ flags, env });
    return ask(connection, use(connection.ownerOf(table)));
  };
  if ((flags.url ?? env.url) !== undefined) return askServer();
  const loaded = await loadConfigOf({ flags, env });
  const { openHome } = await import('../app.js');
  const home = await openHome(loaded, { logger: silentLogger, owner: flags.owner });
  if (!home) return askServer();
  try {
    return await use(home.client(table));
  } finally {
    await home.close();
  }
}
