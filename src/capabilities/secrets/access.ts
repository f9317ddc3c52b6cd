import { LangoError, isLangoError, type ErrorCode } from '../../core/errors.js';
import type { KeepingNode } from '../../core/keeping-nodes.js';
import type { Logger } from '../../core/logger.js';
import { noScrubber, noSecrets, type SecretAccess } from '../../core/secrets.js';
import { pause } from '../../core/time.js';
import { VAULT_OPERATIONS } from '../../core/vault-operations.js';
import { BorrowedSecrets, type BorrowedSecretsOptions } from './vault/borrowed-secrets.js';
import type { OpenSealedVault } from './vault/sealed-vault.js';

/**
 * Opens the access of a node to the secrets of its owners, which `node` keeps, or this one where that is undefined. Without a
 * vault, references to secrets cannot be resolved.
 */
export async function openAccess(
  openVault: () => Promise<OpenSealedVault>,
  node: KeepingNode | undefined,
  logger: Logger,
): Promise<SecretAccess> {
  const own = await openVault().then(
    ({ secrets }) => ({ guard: secrets, everywhere: secrets.everywhere }),
    (error: unknown) => {
      if (isLangoError(error)) return { guard: noSecrets, everywhere: noScrubber };
      throw error;
    },
  );
  if (!node) return own;
  const guard = new BorrowedSecrets({ ask: askOf(node), own, logger });
  return { guard, everywhere: guard.everywhere };
}

/** Temporary errors. */
const PASSING: readonly ErrorCode[] = ['unavailable', 'timeout', 'too-many'];
const PAUSES_MS = [250, 1_000];

/**
 * Asks for a secret before a call has any effect, so it is safe to ask again for calls of every effect class: when the
 * node responds again within a second, the call continues; otherwise it fails with nothing done. The model, or the
 * person who approved an unsafe call, decides whether to try later.
 */
function askOf(node: KeepingNode): BorrowedSecretsOptions['ask'] {
  return async (scope, name, { tool, place, host, signal }) => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const client = await node.clientFor(VAULT_OPERATIONS, scope, signal);
        // `BorrowedSecrets` refuses the other places before it asks.
        const use = { name, tool, place: place as 'exec' | 'http', ...(host !== undefined && { host }) };
        return (await client.useSecret(use)).value;
      } catch (error) {
        signal?.throwIfAborted();
        const pauseMs = PAUSES_MS[attempt];
        if (!isPassing(error) || pauseMs === undefined) throw explained(error, node.url);
        await pause(pauseMs, { signal });
        signal?.throwIfAborted();
      }
    }
  };
}

function isPassing(error: unknown): error is LangoError {
  return isLangoError(error) && PASSING.includes(error.code);
}

/** The error of a node that cannot be reached, or does not know this one. The refusals of a use stay as they are. */
function explained(cause: unknown, url: string): unknown {
  const server = `The server that keeps the secrets, ${url},`;
  if (isLangoError(cause, 'unauthenticated')) {
    const advice = 'Its operator names this server in auth.nodes there, with may: [secrets].';
    const problem = `${server} does not know this one. Nothing was done.`;
    return new LangoError('unavailable', problem, { hint: `${advice} Its log says what is wrong.`, cause });
  }
  if (!isPassing(cause)) return cause;
  const problem = `${server} does not respond: ${cause.message} Nothing was done.`;
  const hint = 'Call this again in a moment. If it fails again, tell the person that this server is away.';
  return new LangoError('unavailable', problem, { hint, retryable: true, cause });
}
