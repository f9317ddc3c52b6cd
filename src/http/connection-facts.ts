import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../core/identity.js';

/** What the client showed during the TLS handshake; undefined without TLS or without a certificate. */
export function certificateOf({ socket }: IncomingMessage): ClientCertificate | undefined {
  if (!isSecure(socket)) return undefined;
  const { subject, subjectaltname } = socket.getPeerCertificate();
  if (subject === undefined) return undefined;
  return {
    problem: socket.authorized ? undefined : problemOf(socket.authorizationError),
    subject: subject as unknown as ClientCertificate['subject'],
    alternativeNames: subjectaltname ?? '',
  };
}

function isSecure(socket: IncomingMessage['socket']): socket is TLSSocket {
  return 'encrypted' in socket && socket.encrypted === true;
}

/** A code, whatever the types say. */
function problemOf(problem: unknown): string {
  if (problem instanceof Error) return problem.message;
  return typeof problem === 'string' ? problem : 'not verified';
}
