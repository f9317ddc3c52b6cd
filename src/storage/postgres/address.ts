import { access, constants } from 'node:fs/promises';
import { codeOf, LangoError } from '../../core/errors.js';

/** The modes of libpq that the driver can follow: it cannot fall back to a connection without TLS, or from one. */
const MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];
/** The value of `sslrootcert` for the authorities of the machine. */
const OF_SYSTEM = 'system';

export interface DatabaseAddress {
  /** As in libpq: postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=… */
  readonly url: string;
  /** The authorities that certify the server, PEM: `sslrootcert` for an address without one. */
  readonly caFile?: string | undefined;
}

/**
 * Makes the address for the driver, whose `sslmode` then means what it means in libpq. Rejects with `storage` for a mode
 * that it cannot follow, and for a file of authorities that cannot be read.
 */
export async function driverAddress({ url, caFile }: DatabaseAddress): Promise<string> {
  const [start = '', query = ''] = url.split(/\?(.*)/s);
  const parameters = new URLSearchParams(query);
  if (caFile !== undefined && !parameters.has('sslrootcert')) {
    parameters.set('sslrootcert', caFile);
    if (!parameters.has('sslmode')) parameters.set('sslmode', 'verify-full');
  }
  if (parameters.get('sslrootcert') === OF_SYSTEM) {
    parameters.delete('sslrootcert');
    parameters.set('sslmode', 'verify-full');
  }
  const [mode, file] = [parameters.get('sslmode'), parameters.get('sslrootcert')];
  if (mode !== null) {
    assertMode(mode, file);
    parameters.set('uselibpqcompat', 'true');
  }
  if (file !== null) await assertReadable(file);
  return parameters.size === 0 ? start : `${start}?${parameters.toString()}`;
}

function assertMode(mode: string, file: string | null): void {
  const refuse = (text: string, hint: string) => new LangoError('storage', text, { hint });
  if (!MODES.includes(mode))
    throw refuse(
      `sslmode=${mode} is not supported.`,
      `Use one of these in storage.url: ${MODES.join(', ')}.`,
    );
  if (mode !== 'verify-ca' || file !== null) return;
  const hint = 'Set storage.caFile, or sslrootcert in storage.url, or use sslmode=verify-full.';
  throw refuse('sslmode=verify-ca needs a file of authorities.', hint);
}

async function assertReadable(file: string): Promise<void> {
  try {
    await access(file, constants.R_OK);
  } catch (cause) {
    const text = `The file of the authorities of PostgreSQL cannot be read (${codeOf(cause)}): ${file}`;
    throw new LangoError('storage', text, {
      hint: 'Correct storage.caFile, or sslrootcert in storage.url.',
      cause,
    });
  }
}
