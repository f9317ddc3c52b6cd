import type { PeerCertificate, SecureContext } from 'node:tls';

/** Which certificates a client takes from servers, in the words of Node's TLS. */
export interface ServerTrust {
  readonly secureContext: SecureContext;
  /** Called with the name that was connected to, once the chain was verified; gives what is wrong. */
  readonly checkServerIdentity: (host: string, certificate: PeerCertificate) => Error | undefined;
}
