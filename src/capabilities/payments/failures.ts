import { causesOf, LangoError, errorText, isLangoError } from '../../core/errors.js';
import { oneLine } from '../../core/text.js';
import type { Network } from './networks.js';

const MAX_REMARK_CHARACTERS = 160;

/**
 * Turns any failure of an RPC call into a `LangoError` that does not name the server's address, which may contain a
 * key. The code is `unavailable` or `timeout`, both retryable.
 */
export function rpcFailure(error: unknown, network: Network): LangoError {
  const known = causesOf(error).find((cause) => isLangoError(cause));
  const isTimeout = known ? known.code === 'timeout' : isCausedBy(error, 'TimeoutError');
  const remark = rpcRemark(error);
  let what = remark === undefined ? 'sent an invalid response.' : `responded with an error: ${remark}`;
  if (isTimeout) what = 'did not respond in time.';
  if (known) what = `did not respond: ${known.message}`;
  return new LangoError(isTimeout ? 'timeout' : 'unavailable', `The RPC server of ${network.title} ${what}`, {
    hint: known?.hint ?? 'Nothing was lost. Try again later, or set another server with payment.rpcUrl.',
    cause: error,
    retryable: true,
  });
}

/** The message of a JSON-RPC error, shortened; undefined when the server reported none. */
export function rpcRemark(error: unknown): string | undefined {
  for (const cause of causesOf(error)) {
    const { code, details } = cause as { readonly code?: unknown; readonly details?: unknown };
    if (nameOf(cause) === 'RpcRequestError' && typeof code === 'number') {
      const remark = typeof details === 'string' ? details : errorText(cause).split('\n')[0]!;
      return oneLine(remark).slice(0, MAX_REMARK_CHARACTERS);
    }
  }
  return undefined;
}

/** Whether one of the causes has the name of one of viem's errors. */
export function isCausedBy(error: unknown, ...names: readonly string[]): boolean {
  return causesOf(error).some((cause) => names.includes(nameOf(cause)));
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}
