import type { RefreshingDirectory } from '../a2a/client/directory.js';
import type { CardSource } from '../a2a/client/load.js';
import { changedKeys } from '../config/describe.js';
import type { LoadedConfig } from '../config/load.js';
import { secretValues } from '../config/secrets.js';
import { LangoError, errorText } from '../core/errors.js';
import type { ReadKeys } from '../core/card.js';
import type { Logger } from '../core/logger.js';
import { KeyedMutex } from '../core/keyed-mutex.js';
import type { TlsMaterial } from '../http/tls.js';
import { remoteSources } from './peers.js';
import { readTls } from './identity.js';

/** Reads the configuration as it is now. Rejects with `invalid-config` when it is wrong. */
export type ReadConfig = () => Promise<LoadedConfig>;

/** Without `read`, the newest configuration stays, and only the files of the TLS certificate are read again. */
export type Reload = (read?: ReadConfig) => Promise<void>;

export interface ReloadOptions {
  /** The configuration that the server was started with. */
  readonly started: LoadedConfig;
  /** The values that the log hides: gets the new secrets before they are used. */
  readonly hidden: Set<string>;
  readonly peers: RefreshingDirectory;
  /** The sources of the node's own peers, which stay. */
  readonly local: readonly CardSource[];
  readonly keys: ReadKeys;
  readonly renewTls: (tls: TlsMaterial) => void;
  /** Aborts when the server stops: later reloads do nothing. */
  readonly stopping: AbortSignal;
  readonly logger: Logger;
}

/** All other keys need a restart. */
const RELOADABLE: ReadonlySet<string> = new Set(['a2a.enabled', 'a2a.remoteAgents']);

/**
 * Makes the function that applies what may change while the server runs: the list of remote agents and the files of the
 * TLS certificate. A reload applies everything or, when anything is wrong, nothing. Reloads run one after the other.
 */
export function createReload({ started, hidden, peers, local, ...options }: ReloadOptions): Reload {
  const { keys: nodeKeys, renewTls, stopping, logger } = options;
  const mutex = new KeyedMutex();
  let current = started;

  const reload = async (read: ReadConfig): Promise<void> => {
    if (stopping.aborted) return;
    const [next, tls] = await both(read(), readTls(started.config));
    if (stopping.aborted) return;
    for (const value of secretValues(next.secrets)) hidden.add(value);
    if (tls) renewTls(tls);
    current = next;
    const keys = changedKeys(started, next).filter((key) => !RELOADABLE.has(key));
    if (keys.length > 0) logger.warn('these keys changed, which needs a restart', { keys });
    const remote = remoteSources({ ...next, started: started.config, keys: nodeKeys, logger });
    const change = await peers.replace([...local, ...remote]);
    logger.info('reloaded the configuration', { ...change, certificate: tls && 'read again' });
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
