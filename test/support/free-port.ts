import { once } from 'node:events';
import { createServer } from 'node:net';
import process from 'node:process';

/**
 * Ports outside of the range from which the kernel takes ports for `port: 0` and for outgoing connections, so that no
 * other test gets a port before it is used. Each worker of jest has its own part.
 */
const FIRST = 20_000;
const PARTS = 6;
const PORTS_OF_A_PART = 1_000;

let next = Math.floor(Math.random() * PORTS_OF_A_PART);

/** A port of loopback that nothing listens on, and that this process has not returned before. */
export async function freePort(): Promise<number> {
  const part = Number(process.env['JEST_WORKER_ID'] ?? 0) % PARTS;
  for (;;) {
    next += 1;
    const port = FIRST + part * PORTS_OF_A_PART + (next % PORTS_OF_A_PART);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await Promise.race([
      once(server, 'listening').then(() => true),
      once(server, 'error').then(() => false),
    ]).catch(() => false);
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
