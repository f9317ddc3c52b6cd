import { ServerCredentials } from '@grpc/grpc-js';

/** What gRPC over TLS is made of. */
export interface GrpcTls {
  readonly key: Buffer;
  readonly cert: Buffer;
  /** Whose certificates clients must show; without it they need none. */
  readonly ca?: Buffer;
  /** Certificates that those authorities took back. */
  readonly crl?: Buffer;
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
}

/** The library's own credentials know neither revocation nor a version of TLS, and cannot be renewed. */
export class TlsCredentials extends ServerCredentials {
  constructor(tls: GrpcTls, handshakeSeconds: number) {
    const asksClients = tls.ca !== undefined;
    super(
      {
        requestCert: asksClients,
        rejectUnauthorized: asksClients,
        handshakeTimeout: handshakeSeconds * 1_000,
      },
      { ...tls },
    );
  }

  /** From now on new connections get this. */
  renew(tls: GrpcTls): void {
    this.updateSecureContextOptions({ ...tls });
  }

  override _equals(other: ServerCredentials): boolean {
    return other === this;
  }
}
