import { execFileSync } from 'node:child_process';
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

/** A list of the authority that takes `revoked` back; the name of its file. */
export async function revocationList(
  folder: string,
  { authority, revoked }: { readonly authority: Pair; readonly revoked: Pair },
): Promise<string> {
  const [crl, config] = [path.join(folder, 'crl.pem'), path.join(folder, 'ca.cnf')];
  const own = await writePair(folder, 'revoking', authority);
  const { certFile } = await writePair(folder, 'revoked', revoked);
  await writeFile(path.join(folder, 'index.txt'), '');
  await writeFile(
    config,
    `[ca]\ndefault_ca = own\n[own]\ndatabase = ${folder}/index.txt\ndefault_md = sha256\ndefault_crl_days = 30\n`,
  );
  const ca = ['ca', '-config', config, '-keyfile', own.keyFile, '-cert', own.certFile];
  execFileSync('openssl', [...ca, '-revoke', certFile], { stdio: 'pipe' });
  execFileSync('openssl', [...ca, '-gencrl', '-out', crl], { stdio: 'pipe' });
  return crl;
}
