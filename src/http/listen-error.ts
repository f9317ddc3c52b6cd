import { LangoError } from '../core/errors.js';

/** Why an address could not be taken, and what to do about it. */
export function cannotListen(cause: NodeJS.ErrnoException, host: string, port: number): LangoError {
  switch (cause.code) {
    case 'EADDRINUSE':
      return new LangoError('unavailable', `Port ${port} on ${host} is already in use.`, {
        hint: 'Choose another with --port (0 takes a free one), or stop the program that uses it.',
        cause,
      });
    case 'EACCES':
      return new LangoError('unavailable', `Port ${port} on ${host} is not open to this user.`, {
        hint: 'Choose a port above 1023 with --port.',
        cause,
      });
    default:
      return new LangoError(
        'unavailable',
        `Cannot listen on ${host}, port ${port}: ${cause.code ?? cause.message}.`,
        { hint: 'Check server.host and server.port.', cause },
      );
  }
}
