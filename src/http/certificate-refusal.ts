import { LangoError } from '../core/errors.js';

const UNKNOWN_AUTHORITY =
  'If it is meant to be trusted, set NODE_EXTRA_CA_CERTS to a file with the certificate of its authority (PEM) and start again.';

/** What to do when Node refuses the certificate of a server, by the code of its error. */
const ADVICE: ReadonlyMap<unknown, string> = new Map([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', UNKNOWN_AUTHORITY],
  ['SELF_SIGNED_CERT_IN_CHAIN', UNKNOWN_AUTHORITY],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', UNKNOWN_AUTHORITY],
  ['UNABLE_TO_GET_ISSUER_CERT', UNKNOWN_AUTHORITY],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', UNKNOWN_AUTHORITY],
  ['CERT_HAS_EXPIRED', 'Whoever runs it has to renew it.'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'It is for another name: call the server by a name that stands in it.'],
]);

/** The error for a server whose certificate was refused; undefined when something else went wrong. */
export function certificateRefusal(host: string, code: unknown, cause: unknown): LangoError | undefined {
  const hint = ADVICE.get(code);
  if (hint === undefined) return undefined;
  const message = `The certificate of ${host} is not trusted (${String(code)}).`;
  return new LangoError('unavailable', message, { cause, hint, retryable: true });
}
