import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { generate } from 'selfsigned';

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** A certificate for a name, signed by `ca`, or by itself. */
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

interface PairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Writes both files. Returns their names. */
export async function writePair(folder: string, name: string, pair: Pair): Promise<PairFiles> {
  const certFile = path.join(folder, `${name}.pem`);
  const keyFile = path.join(folder, `${name}.key`);
  await writeFile(certFile, pair.cert);
  await writeFile(keyFile, pair.key, { mode: 0o600 });
  return { certFile, keyFile };
}

/** Two callers of an authority that revoked the second certificate, and the files for `server.tls`. */
export async function callersOf(folder: string, authority: Pair) {
  const [alice, bob] = [await certificate('alice', authority), await certificate('bob', authority)];
  const ca = await writePair(folder, 'authority', authority);
  const crlFile = await revocationList(folder, { ca, revoked: bob });
  return { alice, bob, known: { clientCaFile: ca.certFile, crlFile } };
}

/** A revocation list of the authority with `revoked` in it. Returns the name of its file. */
async function revocationList(
  folder: string,
  { ca, revoked }: { readonly ca: PairFiles; readonly revoked: Pair },
): Promise<string> {
  const [crl, config] = [path.join(folder, 'crl.pem'), path.join(folder, 'ca.cnf')];
  const { certFile } = await writePair(folder, 'revoked', revoked);
  await writeFile(path.join(folder, 'index.txt'), '');
  await writeFile(
    config,
    `[ca]\ndefault_ca = own\n[own]\ndatabase = ${folder}/index.txt\ndefault_md = sha256\ndefault_crl_days = 30\n`,
  );
  const openssl = ['ca', '-config', config, '-keyfile', ca.keyFile, '-cert', ca.certFile];
  execFileSync('openssl', [...openssl, '-revoke', certFile], { stdio: 'pipe' });
  execFileSync('openssl', [...openssl, '-gencrl', '-out', crl], { stdio: 'pipe' });
  return crl;
}
