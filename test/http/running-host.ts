import { connect } from 'node:net';
import { BytesInFlight } from '../../src/core/bytes-in-flight.js';
import type { HttpRoute } from '../../src/core/http.js';
import type { LogFields, Logger } from '../../src/core/logger.js';
import { silentLogger } from '../../src/core/logger.js';
import type { HostAddress, HostOptions } from '../../src/http/host.js';
import { Host } from '../../src/http/host.js';
import { createAuthenticator } from '../../src/http/identity.js';

export const TOKEN = 'correct-horse';

export const LIMITS: HostOptions['limits'] = {
  bodyBytes: 1_000,
  jsonDepth: 8,
  jsonKeys: 10,
  headerBytes: 4_096,
  headerSeconds: 5,
  keepAliveSeconds: 5,
  bodySeconds: 5,
  connections: 1_000,
  drainSeconds: 2,
};

export interface RunningHost extends HostAddress {
  readonly host: string;
  readonly server: Host;
}

export async function startHost(
  routes: readonly HttpRoute[],
  changes: Partial<HostOptions> = {},
): Promise<RunningHost> {
  const server = new Host({
    host: '127.0.0.1',
    port: 0,
    trustProxy: false,
    allowedHosts: [],
    allowedOrigins: [],
    limits: LIMITS,
    authenticator: createAuthenticator({ mode: 'token', token: TOKEN, logger: silentLogger }),
    bytesInFlight: new BytesInFlight(2 ** 24),
    routes,
    problem: () => undefined,
    logger: silentLogger,
    ...changes,
  });
  return { ...(await server.start()), server };
}

/** Sends raw text. Resolves with everything that came back until the server closed the connection. */
export function rawRequest(port: number, text: string, address = '127.0.0.1'): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, address, () => socket.write(text));
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => (answer += chunk));
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

/** A logger that records its lines. */
export function recordingLogger(lines: LogLine[], bound: LogFields = {}): Logger {
  const at = (level: string) => (message: string, fields?: LogFields) => {
    lines.push({ level, message, fields: { ...bound, ...fields } });
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => recordingLogger(lines, { ...bound, ...fields }),
  };
}
