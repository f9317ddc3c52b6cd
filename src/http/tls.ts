import { X509Certificate, createPrivateKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { checkServerIdentity, createSecureContext } from 'node:tls';
import { LangoError, errorText } from '../core/errors.js';
import { findingOfError, type Finding } from '../core/findings.js';
import type { CertificateFiles, ServerTrust, TlsMaterial } from '../core/http.js';

interface TlsSettings {
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** The authority of client certificates; with it the server asks clients for one. */
  readonly clientCaFile?: string | undefined;
  readonly crlFile?: string | undefined;
  readonly minVersion: TlsMaterial['minVersion'];
}

/** Reads and checks the files; undefined for plain HTTP. Rejects with `invalid-config` that describes the first wrong one. */
export async function readTls(settings: TlsSettings): Promise<TlsMaterial | undefined> {
  const { certFile, keyFile, clientCaFile, crlFile, minVersion } = settings;
  if (certFile === undefined || keyFile === undefined) return undefined;
  const [cert, key] = [await read(certFile), await read(keyFile)];
  const certificate = attempt(
    () => new X509Certificate(cert),
    `${certFile} holds no certificate in PEM form`,
  );
  const privateKey = attempt(() => createPrivateKey(key), `${keyFile} holds no private key in PEM form`);
  if (!certificate.checkPrivateKey(privateKey)) throw wrong(`${keyFile} is not the key of ${certFile}`);
  if (new Date(certificate.validTo).getTime() < Date.now())
    throw wrong(`the certificate in ${certFile} expired on ${certificate.validTo}`);
  const ca = clientCaFile === undefined ? undefined : await read(clientCaFile);
  if (ca) attempt(() => new X509Certificate(ca), `${clientCaFile} holds no certificate in PEM form`);
  const crl = crlFile === undefined ? undefined : await read(crlFile);
  if (crl && !crl.includes('BEGIN X509 CRL')) throw wrong(`${crlFile} holds no revocation list in PEM form`);
  return { cert, key, minVersion, ...(ca && { ca }), ...(crl && { crl }) };
}

/** Finds faults of the files that `readTls` reads. */
export function tlsFindings(settings: TlsSettings): Promise<readonly Finding[]> {
  return findingOfError(readTls(settings), (error) => {
    const named = Object.entries(settings).find(
      ([key, file]) => key.endsWith('File') && typeof file === 'string' && errorText(error).includes(file),
    );
    return ['server', 'tls', named?.[0] ?? 'certFile'];
  });
}

/** Trusts Node's authorities, and one certificate under any host name. Throws when the text contains no certificate. */
export function trustCertificate(pem: string): ServerTrust {
  const certificate = new X509Certificate(pem);
  return {
    secureContext: createSecureContext({
      // Not imported: Node 20 lacks it, and must get as far as config/require-node.ts.
      ca: [...process.getBuiltinModule('node:tls').getCACertificates('default'), certificate.toString()],
      allowPartialTrustChain: true,
    }),
    checkServerIdentity: (host, shown) =>
      shown.raw.equals(certificate.raw) ? undefined : checkServerIdentity(host, shown),
  };
}

/** Makes the reader of a client certificate: the same object until a file changes. Rejects with `invalid-config`. */
export function clientCertificate(files: CertificateFiles): () => Promise<ServerTrust> {
  let cached: { readonly bytes: Buffer; readonly trust: ServerTrust } | undefined;
  return async () => {
    try {
      const [cert, key, ca] = await Promise.all([
        readFile(files.certFile),
        readFile(files.keyFile),
        files.caFile === undefined ? undefined : readFile(files.caFile),
      ]);
      const bytes = Buffer.concat([cert, key, ca ?? Buffer.alloc(0)]);
      if (cached?.bytes.equals(bytes)) return cached.trust;
      const trusted = ca && [...process.getBuiltinModule('node:tls').getCACertificates('default'), ca];
      const secureContext = createSecureContext({ cert, key, ...(trusted && { ca: trusted }) });
      cached = { bytes, trust: { secureContext, checkServerIdentity } };
      return cached.trust;
    } catch (cause) {
      throw new LangoError('invalid-config', 'The client certificate or its key cannot be read.', {
        hint: 'Correct auth.mtls in its entry of a2a.remoteAgents.',
        cause,
      });
    }
  };
}

async function read(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw wrong(`${file} cannot be read: ${errorText(error)}`);
  }
}

function attempt<T>(make: () => T, problem: string): T {
  try {
    return make();
  } catch (cause) {
    throw wrong(problem, cause);
  }
}

function wrong(problem: string, cause?: unknown): LangoError {
  return new LangoError('invalid-config', `TLS: ${problem}.`, { hint: 'Correct server.tls.', cause });
}
