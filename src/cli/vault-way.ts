import { openHomeVault } from '../app.js';
import type { HomeVault } from '../app.js';
import { loadConfig } from '../config/load.js';
import { silentLogger } from '../core/logger.js';
import type { CommandContext } from './command.js';
import type { Connection, ConnectionFlags } from './connection.js';
import { connect, overridesOf } from './connection.js';
import { usageError } from './exit.js';

export interface VaultFlags extends ConnectionFlags {
  /** Whose entries; without it those of the server's own token. */
  readonly owner?: string;
}

/** The two ways to what a person keeps in the vault. */
export interface VaultWays<Way> {
  readonly direct: (vault: HomeVault) => Way;
  readonly overHttp: (connection: Connection) => Way;
}

/**
 * The vault can be open once: a server that has it is asked over HTTP, and without one the data folder is opened. A
 * server that is named (`--url`, LANGO_URL) is always asked.
 */
export async function overVault<Way, T>(
  flags: VaultFlags,
  { env }: CommandContext,
  { ways, use }: { readonly ways: VaultWays<Way>; readonly use: (way: Way) => Promise<T> },
): Promise<T> {
  const ask = async (): Promise<T> => {
    if (flags.owner !== undefined) {
      throw usageError(
        '--owner is for a data folder that no server has open: a server knows you by your token.',
        'Stop the server, or leave --owner out.',
      );
    }
    return use(ways.overHttp(await connect(flags, env)));
  };
  if ((flags.url ?? env.url) !== undefined) return ask();
  const loaded = await loadConfig({ env, overrides: overridesOf(flags) });
  const vault = await openHomeVault(loaded, { logger: silentLogger, owner: flags.owner });
  if (!vault) return ask();
  try {
    return await use(ways.direct(vault));
  } finally {
    await vault.close();
  }
}
