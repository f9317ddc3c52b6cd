import { causesOf, LangoError, errorText, isLangoError } from '../../core/errors.js';
import { oneLine } from '../../core/text.js';
import type { Network } from './networks.js';

const LONGEST_REMARK = 160;

/**
 * Turns any failure of an RPC call into a `LangoError` that does not name the server's address, which may contain a
 * key. The code is `unavailable` or `timeout`, both retryable.
 */
export function rpcFailure(error: unknown, network: Network): LangoError {
  const chain = causesOf(error);
  const known = chain.find((cause) => isLangoError(cause));
  const what = `The RPC server of ${network.title}`;
  const hint = 'Nothing was lost. Try again later, or set another server with payment.rpcUrl.';
  if (known) {
    const code = known.code === 'timeout' ? 'timeout' : 'unavailable';
    return new LangoError(code, `${what} did not answer: ${known.message}`, {
      hint: known.hint ?? hint,
      cause: error,
      retryable: true,
    });
  }
  if (chain.some((cause) => nameOf(cause) === 'TimeoutError')) {
    return new LangoError('timeout', `${what} did not answer in time.`, {
      hint,
      cause: error,
      retryable: true,
    });
  }
  const remark = rpcRemark(error);
  const text = remark === undefined ? 'sent an invalid answer.' : `answered with an error: ${remark}`;
  return new LangoError('unavailable', `${what} ${text}`, { hint, cause: error, retryable: true });
}

/** The message of a JSON-RPC error, shortened; undefined when the server did not answer in that form. */
export function rpcRemark(error: unknown): string | undefined {
  for (const cause of causesOf(error)) {
    const answer = cause as { readonly code?: unknown; readonly details?: unknown };
    if (nameOf(cause) === 'RpcRequestError' && typeof answer.code === 'number') {
      const remark = typeof answer.details === 'string' ? answer.details : errorText(cause).split('\n')[0]!;
      return oneLine(remark).slice(0, LONGEST_REMARK);
    }
  }
  return undefined;
}

/** Whether the server answered that the requested object does not exist, as opposed to not answering. */
export function isNotFound(error: unknown): boolean {
  return causesOf(error).some((cause) =>
    /^(TransactionReceipt|Transaction|Block)NotFoundError$/.test(nameOf(cause)),
  );
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}
