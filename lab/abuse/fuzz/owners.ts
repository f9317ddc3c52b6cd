import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createServer, type Server } from '../../../src/index.js';
import { JWT, KEYS, sign } from '../persons.js';
import type { Owners } from './target.js';

/** Is in every message of the first owner. The other must never read it. */
const MARK = 'lilac-of-the-first-owner';
/** A call that waits longer for its approval is not made. */
export const APPROVAL_SECONDS = 1;

/** A server with two owners, each with their own token, where every call waits for an approval. */
export async function startOwners(
  home: string,
  settings: object,
): Promise<{ readonly owners: Owners; readonly server: Server }> {
  const jwksFile = path.join(home, 'jwks.json');
  await writeFile(jwksFile, JSON.stringify(KEYS));
  const server = createServer({
    home: path.join(home, 'owners'),
    settings: {
      ...settings,
      auth: { mode: 'jwt', jwt: { ...JWT, jwksFile } },
      approval: { policy: 'all', expirySeconds: APPROVAL_SECONDS },
    },
  });
  const { origin } = await server.start();
  const [first, second] = [await sign({ sub: 'first' }), await sign({ sub: 'second' })];
  const response = await fetch(`${origin}/message:send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${first}`, 'content-type': 'application/json' },
    body: JSON.stringify({ message: { messageId: 'first', role: 'ROLE_USER', parts: [{ text: MARK }] } }),
  });
  const { task } = (await response.json()) as { task: { id: string; contextId: string } };
  return {
    server,
    owners: { origin, first, second, sign, mark: MARK, taskId: task.id, contextId: task.contextId },
  };
}
