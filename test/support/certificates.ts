import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { generate } from 'selfsigned';

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** A certificate of a name; signed by `ca`, else by itself. */
export async function certificate(name: string, ca?: Pair, notAfterDate?: Date): Promise<Pair> {
  const made = await generate([{ name: 'commonName', value: name }], {
    keySize: 2048,
    algorithm: 'sha256',
    extensions: ca
      ? [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }]
      : [
          { name: 'basicConstraints', cA: true },
          { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
        ],
    ...(ca ? { ca } : {}),
    ...(notAfterDate ? { notBeforeDate: new Date(0), notAfterDate } : {}),
  });
  return { cert: made.cert, key: made.private };
}

/** Writes both files and gives their names. */
export async function writePair(
  folder: string,
  name: string,
  pair: Pair,
): Promise<{ certFile: string; keyFile: string }> {
  const certFile = path.join(folder, `${name}.pem`);
  const keyFile = path.join(folder, `${name}.key`);
  await writeFile(certFile, pair.cert);
  await writeFile(keyFile, pair.key, { mode: 0o600 });
  return { certFile, keyFile };
}
