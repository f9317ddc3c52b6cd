import { changedKeys } from '../config/describe.js';
import type { LoadedConfig } from '../config/load.js';
import { secretValues } from '../config/secrets.js';
import { LangoError, errorText } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import { KeyedMutex } from '../core/keyed-mutex.js';
import type { TlsMaterial } from '../http/tls.js';
import type { Peers } from './peers.js';
import { readTls } from './tls.js';

/** The configuration as it is now. Rejects with `invalid-config` when it is wrong. */
export type ReadConfig = () => Promise<LoadedConfig>;

/** Without `read` it is the one that was taken up last: then only the files of the certificate may be new. */
export type Reload = (read?: ReadConfig) => Promise<void>;

export interface ReloadParts {
  /** What the server was started with. */
  readonly started: LoadedConfig;
  /** Gets the new secrets before anything is done with them. */
  readonly hidden: Set<string>;
  readonly peers: Peers;
  readonly renewTls: (tls: TlsMaterial) => void;
  /** Aborts when the server stops: from then on nothing is taken up. */
  readonly stopping: AbortSignal;
  readonly logger: Logger;
}

/** All other keys need a restart. */
const TAKEN_UP: ReadonlySet<string> = new Set(['a2a.enabled', 'a2a.remoteAgents']);

/**
 * Takes up what may change while the server runs, the list of remote agents and the files of the certificate: all of
 * it or, when anything is wrong, nothing. Reloads that overlap are done one after the other.
 */
export function createReload({ started, hidden, peers, ...parts }: ReloadParts): Reload {
  const { renewTls, stopping, logger } = parts;
  const mutex = new KeyedMutex();
  let current = started;

  const reload = async (read: ReadConfig): Promise<void> => {
    if (stopping.aborted) return;
    const [next, tls] = await both(read(), readTls(started.config));
    if (stopping.aborted) return;
    for (const value of secretValues(next.secrets)) hidden.add(value);
    if (tls) renewTls(tls);
    current = next;
    const keys = changedKeys(started, next).filter((key) => !TAKEN_UP.has(key));
    if (keys.length > 0) logger.warn('these keys changed, which needs a restart', { keys });
    const change = await peers.take(next);
    logger.info('took up the configuration', { ...change, ...(tls ? { certificate: 'read again' } : {}) });
  };
  return (read = async () => current) => mutex.run('reload', () => reload(read));
}

/** Rejects with all that is wrong. */
async function both<A, B>(a: Promise<A>, b: Promise<B>): Promise<readonly [A, B]> {
  const results = await Promise.allSettled([a, b]);
  const wrong = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  if (wrong.length > 1) throw new LangoError('invalid-config', wrong.map(errorText).join('\n'));
  return Promise.all([a, b]);
}
