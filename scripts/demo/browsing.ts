import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Demo } from './conversation.js';
import { ask, check } from './conversation.js';

const PAGE = '<!doctype html><title>The pond</title><h1>An old silent pond</h1><p>A frog jumps in.</p>';
const PNG = '89504e470d0a1a0a';

/** Serves a web page on this machine during the demo. */
export interface DemoPage {
  readonly host: string;
  close(): void;
}

export async function openPage(): Promise<DemoPage> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { host: `127.0.0.1:${port}`, close };
}

/** Takes a screenshot of the page, if there is a Chromium. */
export async function browse(demo: Demo, { host }: DemoPage): Promise<void> {
  const agents = await demo.client.catalog();
  if (!agents.some(({ name }) => name === 'navigator')) {
    demo.say(
      '\nLeft out: the screenshot of a page, because there is no Chromium here (apt install chromium).',
    );
    return;
  }
  const outcome = await ask(demo, `open http://${host}/ and then take a screenshot`);
  const files = outcome.events.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []));
  const [shot] = files.flatMap((part) => (part.kind === 'file' && 'bytes' in part ? [part] : []));
  const bytes = Buffer.from(shot?.bytes ?? '', 'base64');
  check('the task has a picture, and its bytes are a PNG', bytes.toString('hex', 0, 8) === PNG);
  demo.say(
    `  ${shot?.filename ?? ''}: ${bytes.length} bytes, ${bytes.readUInt32BE(16)}×${bytes.readUInt32BE(20)} pixels`,
  );
}
