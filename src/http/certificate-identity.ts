import { LangoError } from '../core/errors.js';
import type { ClientCertificate, Credentials } from '../core/identity.js';
import type { Verifier } from './verifier.js';
import { MAX_NAME_LENGTH } from './verifier.js';

/** Which name of a certificate says whose it is. */
export type CertificateName = 'cn' | 'dns' | 'email' | 'uri';

const PREFIX = { dns: 'DNS', email: 'email', uri: 'URI' } as const;

/** Callers are known by the certificate of their connection. The name must be there exactly once. */
export function createCertificateVerifier(name: CertificateName): Verifier {
  return (credentials: Credentials) => {
    const certificate = credentials.certificate();
    if (!certificate) throw notKnown('a client certificate is required');
    if (certificate.problem !== undefined)
      throw notKnown(`the certificate is not trusted: ${certificate.problem}`);
    const [owner, ...others] = name === 'cn' ? commonNames(certificate) : alternativeNames(certificate, name);
    if (owner === undefined || owner === '' || owner.length > MAX_NAME_LENGTH || others.length > 0) {
      throw notKnown(`the certificate does not name exactly one ${name}`);
    }
    // A name of its own kind: the owner of one mode is never that of another.
    return { owner: `certificate:${owner}`, tenant: '' };
  };
}

function notKnown(reason: string): LangoError {
  return new LangoError('unauthenticated', 'A valid client certificate is required.', {
    hint: `In this request ${reason}.`,
    headers: { 'WWW-Authenticate': 'Mutual-TLS realm="lango"' },
  });
}

function commonNames({ subject }: ClientCertificate): readonly string[] {
  const names = subject['CN'] ?? [];
  return typeof names === 'string' ? [names] : names;
}

/** Node writes "DNS:a, URI:b"; a value with anything special in it as a JSON string. */
function alternativeNames(certificate: ClientCertificate, name: keyof typeof PREFIX): readonly string[] {
  const entries = certificate.alternativeNames.matchAll(/([^:,]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/g);
  return [...entries]
    .filter(([, kind]) => kind === PREFIX[name])
    .map(([, , value = '']) => (value.startsWith('"') ? (JSON.parse(value) as string) : value));
}
