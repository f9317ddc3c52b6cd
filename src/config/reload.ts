import { setImmediate as nextTurn } from 'node:timers/promises';
import { LangoError, errorText } from '../core/errors.js';
import { KeyedMutex } from '../core/keyed-mutex.js';
import type { Logger } from '../core/logger.js';
import type { AddedAgent } from './added-agents.js';
import { changedKeys } from './describe.js';
import type { LoadedConfig } from './load.js';
import { secretValues } from './secrets.js';

/** Reads the present configuration, with `added` in place of the agents in the data folder. Rejects with `invalid-config`. */
export type ReadConfig = (added?: readonly AddedAgent[]) => Promise<LoadedConfig>;

/** Without `read`, the newest configuration stays, and only the files of the TLS certificate are read again. */
export type Reload = (read?: ReadConfig) => Promise<void>;

interface ReloadOptions extends LoadedConfig {
  /** The values that the log hides: gets those of the new configuration before they are used. */
  readonly hidden: Set<string>;
  /** Reads the files of the TLS certificate; resolves with the function that uses them, undefined for plain HTTP. */
  readonly readTls: () => Promise<(() => void) | undefined>;
  /** Replaces the remote agents, and resolves with what changed. */
  readonly replacePeers: (list: LoadedConfig) => Promise<object>;
  /** Aborts when the server stops: reloads then do nothing. */
  readonly stopping: AbortSignal;
  readonly logger: Logger;
}

/** All other keys need a restart. */
const RELOADABLE: ReadonlySet<string> = new Set(['a2a.enabled', 'a2a.remoteAgents']);

/**
 * Makes the function that applies what may change while the server runs: the list of remote agents and the files of the
 * TLS certificate. A reload applies everything or, when anything is wrong, nothing. Reloads run one after the other.
 */
export function createReload(options: ReloadOptions): Reload {
  const { stopping, logger } = options;
  const mutex = new KeyedMutex();
  let current: LoadedConfig = options;

  const reload = async (read: ReadConfig): Promise<void> => {
    if (stopping.aborted) return;
    const [next, renewTls] = await both(read(), options.readTls());
    const keys = changedKeys(options, next, RELOADABLE);
    // Comparing and replacing thousands of remote agents each take a while: other work runs in between.
    await nextTurn();
    if (stopping.aborted) return;
    for (const value of secretValues(next.secrets)) options.hidden.add(value);
    renewTls?.();
    current = next;
    if (keys.length > 0) logger.warn('these keys changed, which needs a restart', { keys });
    const change = await options.replacePeers(next);
    logger.info('reloaded the configuration', { ...change, certificate: renewTls && 'read again' });
  };
  return (read = async () => current) => mutex.run('reload', () => reload(read));
}

/** Waits for both. When both fail, rejects with one error that has both texts. */
async function both<A, B>(a: Promise<A>, b: Promise<B>): Promise<readonly [A, B]> {
  const results = await Promise.allSettled([a, b]);
  const wrong = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  if (wrong.length > 1) throw new LangoError('invalid-config', wrong.map(errorText).join('\n'));
  return Promise.all([a, b]);
}
