import { X509Certificate } from 'node:crypto';
import { checkServerIdentity, createSecureContext, getCACertificates } from 'node:tls';
import type { ServerTrust } from '../core/http.js';

/** Trusts what Node trusts, and the holder of one certificate under any host name. Throws when the text holds no certificate. */
export function trustCertificate(pem: string): ServerTrust {
  const certificate = new X509Certificate(pem);
  return {
    secureContext: createSecureContext({
      ca: [...getCACertificates('default'), certificate.toString()],
      allowPartialTrustChain: true,
    }),
    checkServerIdentity: (host, shown) =>
      shown.raw.equals(certificate.raw) ? undefined : checkServerIdentity(host, shown),
  };
}
