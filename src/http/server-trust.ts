import { X509Certificate } from 'node:crypto';
import { checkServerIdentity, createSecureContext, getCACertificates } from 'node:tls';
import type { ServerTrust } from '../core/http.js';

/** Takes what Node trusts, and whoever proves to be the holder of one certificate, by whatever name it is called. Throws for a text that holds none. */
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
