import { timingSafeEqual } from 'node:crypto';
import { LangoError } from '../core/errors.js';
import type { Caller, ClientCertificate, Credentials } from '../core/identity.js';

/** Verifies one kind of credential and returns the caller. Throws or rejects with a `LangoError` that holds the challenge. */
export type Verifier = (credentials: Credentials) => Caller | Promise<Caller>;

/** The name in a certificate that is the owner. */
export type CertificateName = 'cn' | 'dns' | 'email' | 'uri';

/** The longest name of an owner or a tenant, in characters. */
export const MAX_NAME_LENGTH = 256;

const PREFIX = { dns: 'DNS', email: 'email', uri: 'URI' } as const;

/** Makes the verifier of one token for all requests: a request with `token` comes from `caller`. */
export function createTokenVerifier(token: string, caller: Caller): Verifier {
  const isToken = constantTimeEquals(token);
  return ({ authorization }: Credentials) => {
    const given = bearerToken(authorization);
    if (given === undefined) throw noBearer();
    if (!isToken(given)) throw noBearer('The token is wrong.');
    return caller;
  };
}

/** Makes the verifier of client certificates. A certificate must contain the name of the owner exactly once. */
export function createCertificateVerifier(name: CertificateName): Verifier {
  return (credentials: Credentials) => {
    const certificate = credentials.certificate();
    if (!certificate) throw noCertificate('a client certificate is required');
    if (certificate.problem !== undefined)
      throw noCertificate(`the certificate is not trusted: ${certificate.problem}`);
    const [owner, ...others] =
      name === 'cn' ? [certificate.subject['CN'] ?? []].flat() : alternativeNames(certificate, name);
    if (owner === undefined || owner === '' || owner.length > MAX_NAME_LENGTH || others.length > 0)
      throw noCertificate(`the certificate does not name exactly one ${name}`);
    // The prefix keeps owners of different auth modes apart.
    return { owner: `certificate:${owner}`, tenant: '' };
  };
}

/** Returns the token of `Authorization: Bearer TOKEN`; undefined for any other header. */
export const bearerToken = (header: string | undefined) => /^bearer +(\S+) *$/i.exec(header ?? '')?.[1];

/** The error for a request without a valid bearer token. `reason` says why a given token is refused (RFC 6750 section 3). */
export function noBearer(reason?: string): LangoError {
  const fault = reason === undefined ? '' : `, error="invalid_token", error_description="${reason}"`;
  return new LangoError('unauthenticated', 'A valid bearer token is required.', {
    hint: reason ?? 'Send it in the header "Authorization: Bearer TOKEN".',
    headers: { 'WWW-Authenticate': `Bearer realm="lango"${fault}` },
  });
}

/** Compares texts with a secret in constant time. */
export function constantTimeEquals(secret: string): (given: string) => boolean {
  const expected = Buffer.from(secret);
  const copy = Buffer.alloc(expected.length);
  return (given) => {
    // `write` cuts a longer text, and leaves bytes of an earlier text behind a shorter one; the lengths decide both cases.
    const written = copy.write(given);
    const isEqual = timingSafeEqual(copy, expected);
    return isEqual && written === expected.length && given.length === secret.length;
  };
}

function noCertificate(reason: string): LangoError {
  return new LangoError('unauthenticated', 'A valid client certificate is required.', {
    hint: `In this request ${reason}.`,
    headers: { 'WWW-Authenticate': 'Mutual-TLS realm="lango"' },
  });
}

/** Node writes "DNS:a, URI:b", and a value with special characters as a JSON string. */
function alternativeNames(certificate: ClientCertificate, name: keyof typeof PREFIX): readonly string[] {
  const entries = certificate.alternativeNames.matchAll(/([^:,]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/g);
  return [...entries]
    .filter(([, kind]) => kind === PREFIX[name])
    .map(([, , value = '']) => (value.startsWith('"') ? (JSON.parse(value) as string) : value));
}
