import type { Config } from '../config/config.js';
import type { TlsMaterial } from '../http/tls.js';
import { loadTls } from '../http/tls.js';

/** The server's certificate as the files hold it now; undefined for plain HTTP. Rejects with `invalid-config`. */
export async function readTls({ server: { tls } }: Config): Promise<TlsMaterial | undefined> {
  const { certFile, keyFile, clientCaFile, crlFile, minVersion } = tls;
  if (certFile === undefined || keyFile === undefined) return undefined;
  return loadTls({
    certFile,
    keyFile,
    minVersion,
    ...(clientCaFile === undefined ? {} : { clientCaFile }),
    ...(crlFile === undefined ? {} : { crlFile }),
  });
}
