import type { Secrets } from '../config/secrets.js';
import { loadOrCreateToken } from '../config/node-credentials.js';
import type { Audit } from '../core/identity.js';
import type { TlsMaterial } from '../http/tls.js';
import type { AuditParts } from './audit.js';
import { openAudit } from './audit.js';
import { readTls } from './tls.js';

/** What is made of files before anybody may come. */
export interface Locks {
  readonly tls: TlsMaterial | undefined;
  /** In mode `token`. */
  readonly token: string | undefined;
  readonly audit: Audit;
  readonly close: () => Promise<void>;
}

export interface LockParts extends AuditParts {
  readonly secrets: Secrets;
}

/** Rejects with `invalid-config` when a file is wrong, and with `storage` when the token cannot be kept. */
export async function openLocks({ config, secrets, ...log }: LockParts): Promise<Locks> {
  const token =
    config.auth.mode === 'token' ? (secrets.token ?? (await loadOrCreateToken(config.home))) : undefined;
  const tls = await readTls(config);
  return { tls, token, ...(await openAudit({ config, ...log })) };
}
