/**
 * A receiver of push notifications, beside a server that sends them. Run it: `npx node dist/examples/push-receiver.js`
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { createPushVerifier, createServer } from 'lango';

const home = await mkdtemp(path.join(tmpdir(), 'lango-example-'));
// Servers send nothing to private addresses, unless they are told to.
const server = createServer({
  home,
  settings: { server: { port: 0 }, egress: { allowPrivate: ['127.0.0.1'] } },
});
const { origin, token } = await server.start();

const receiver = createHttpServer();
receiver.listen(0, '127.0.0.1');
await once(receiver, 'listening');
const audience = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
const verify = createPushVerifier({ issuer: origin, audience, token: 'only-we-know' });
const seen = new Set<string>();
const ended = Promise.withResolvers<void>();

/** The status to answer with. */
async function receive(request: IncomingMessage): Promise<number> {
  const body = await text(request);
  const checked = await verify({ headers: request.headers, body }).catch(() => undefined);
  if (!checked) return 403;
  const { id, event } = checked;
  if (seen.has(id)) return 204;
  seen.add(id);
  const { status } = (event['statusUpdate'] ?? {}) as { status?: { state: string } };
  if (status?.state === 'TASK_STATE_COMPLETED') {
    console.log(`${seen.size} notifications, the last: ${status.state}`);
    ended.resolve();
  }
  return 204;
}

receiver.on('request', (request, response) => {
  receive(request).then(
    (status) => response.writeHead(status).end(),
    () => response.writeHead(500).end(),
  );
});

try {
  await fetch(`${origin}/message:send`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/a2a+json',
      'A2A-Version': '1.0',
      Authorization: `Bearer ${token}`,
    },
    body: JSON.stringify({
      message: { messageId: 'first', role: 'ROLE_USER', parts: [{ text: 'list the files' }] },
      configuration: {
        returnImmediately: true,
        taskPushNotificationConfig: { url: `${audience}/hook`, token: 'only-we-know' },
      },
    }),
  });
  await ended.promise;
  const forged = await fetch(audience, { method: 'POST', body: '{"statusUpdate":{}}' });
  console.log(`forged: ${forged.status}`);
} finally {
  await server.stop();
  receiver.close();
  await rm(home, { recursive: true });
}
