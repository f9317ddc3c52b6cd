import { codeOf, errorText, LangoError } from '../../core/errors.js';
import { advised, lasting, temporary, type Advice } from '../advice.js';

const GONE: Advice = temporary(
  'The PostgreSQL server cannot be reached, or it ended the connection.',
  'Check that it runs, and the host and port of storage.url. Work continues by itself when it is back.',
);

/** The SQLSTATE of a write to a server that is read-only. */
const NO_WRITES = '25006';

/** Advice by SQLSTATE, or by its class (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const ADVICE: Readonly<Record<string, Advice>> = {
  '08': GONE,
  '57P': GONE,
  '57014': temporary(
    'A statement took longer than storage.statementSeconds.',
    'Find out what keeps PostgreSQL busy, or raise storage.statementSeconds.',
  ),
  '53300': temporary(
    'PostgreSQL has no connection left.',
    'Lower storage.connections of each server, or raise max_connections of PostgreSQL.',
  ),
  '53': temporary('PostgreSQL is out of memory or disk space.', 'Free space on its disk, then try again.'),
  [NO_WRITES]: temporary(
    'PostgreSQL accepts no writes: it is a standby, or is set to read only.',
    'Let storage.url name the primary, for example with target_session_attrs or a DNS name that moves.',
  ),
  '28': lasting(
    'PostgreSQL refuses this user or password.',
    'Check the user and the password in storage.url, and pg_hba.conf of the server.',
  ),
  '3D000': lasting('The database of storage.url does not exist.', 'Create it with: createdb NAME'),
  '42501': lasting(
    'The user of storage.url lacks a privilege on the database.',
    'Make this user the owner of the schema, or grant it CREATE and USAGE on the schema.',
  ),
  TLS: lasting(
    'The certificate of the PostgreSQL server cannot be trusted.',
    'Let storage.caFile name the authority that signed it, and storage.url the name in the certificate.',
  ),
  'NO-TLS': lasting(
    'The PostgreSQL server offers no TLS.',
    'Switch on ssl there, or use sslmode=disable in storage.url in a network that you trust.',
  ),
  '40': temporary('The transaction conflicted with others too often.', 'Try again.'),
};

const NETWORK = /^(E(CONN|PIPE|HOST|NET|TIMEDOUT|AI_AGAIN)|ENOTFOUND)/;
/** Errors of the driver without a code: a connection ended, or none was available in time. */
const BROKEN =
  /Connection terminated|connection error|timeout (exceeded|expired)|read timeout|Client has encountered/i;

/** Codes of Node for a certificate that it does not accept. */
const UNTRUSTED = /^(ERR_TLS_|CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|INVALID_CA)/;
const NO_TLS = /does not support SSL connections/;
/** The driver's error for a server that wants a password when the address has none. */
const NO_PASSWORD = /client password must be a( non-empty)? string/;

/** The pause before clients should retry after a temporary failure. */
const RETRY_AFTER_MS = 2_000;

/** Wraps an error of the driver in a `LangoError` `storage` with advice. Returns a `LangoError` unchanged. */
export function storageError(cause: unknown): LangoError {
  return advised(cause, adviceFor(cause), RETRY_AFTER_MS);
}

/** Like `storageError`, with what PostgreSQL or the system said: for the operator who opens the database. */
export function openingError(cause: unknown): LangoError {
  const error = storageError(cause);
  if (error === cause) return error;
  const { code, message, retryable, retryAfterMs } = error;
  const said = `It was: ${errorText(cause)}.`;
  const hint = adviceFor(cause) ? `${error.hint ?? ''} ${said}` : said;
  return new LangoError(code, message, { hint, retryable, retryAfterMs, cause });
}

function adviceFor(error: unknown): Advice | undefined {
  const code = codeOf(error) ?? '';
  const text = errorText(error);
  if (UNTRUSTED.test(code)) return ADVICE['TLS'];
  if (NO_TLS.test(text)) return ADVICE['NO-TLS'];
  if (NO_PASSWORD.test(text)) return ADVICE['28'];
  if (NETWORK.test(code) || BROKEN.test(text)) return GONE;
  return ADVICE[code] ?? ADVICE[code.slice(0, 3)] ?? ADVICE[code.slice(0, 2)];
}

/** Whether the database as a whole fails, and not one operation. */
export function isFaultOfDatabase(error: unknown): boolean {
  return adviceFor(error)?.retryable === true && !mayRepeat(error);
}

/** Whether PostgreSQL refused a write because it is read-only. */
export function isWriteRefused(error: unknown): boolean {
  return codeOf(error) === NO_WRITES;
}

/** Whether the transaction lost against others and can be run again from its start. */
export function mayRepeat(error: unknown): boolean {
  return (codeOf(error) ?? '').startsWith('40');
}
