import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Report } from '../../core/command.js';
import { LangoError } from '../../core/errors.js';
import { Deadline } from '../../core/time.js';
import { unrevokedLines } from '../../core/vault.js';
import { VAULT_OPERATIONS } from '../../core/vault-operations.js';
import { openInBrowser } from '../../terminal/browser.js';
import { safeLine } from '../../terminal/safe-text.js';
import type { McpCall } from './commands.js';
import { signInName } from './kept-sign-in.js';
import { signInByBrowser, signInByDevice, type Callback, type SignInPage } from './login.js';
import { requireLogin } from './opening.js';

const WAIT_MS = 10 * 60 * 1_000;

/** `lango mcp login`: signs a person in at an MCP server, and keeps the tokens in the vault of the server. */
export async function login(
  call: McpCall<{ readonly device?: boolean; readonly browser?: boolean; readonly scope?: string }>,
  name: string,
): Promise<Report> {
  const { flags, terminal } = call;
  const furtherScopes = flags.scope?.split(' ') ?? [];
  const options = { ...requireLogin(await call.readSettings(), name), furtherScopes };
  using stop = new Deadline();
  process.once('SIGINT', () => stop.abort(new LangoError('canceled', 'The sign-in was given up.')));
  const hint = `Try again: lango mcp login ${name}`;
  const late = new LangoError('timeout', 'Nobody signed in within 10 minutes.', { hint });
  const { signal } = stop.expect(WAIT_MS, () => late);
  const show = ({ url, code, issuer }: SignInPage): void => {
    // Says who gets the permission before the page opens: a hostile issuer could show the page of another one.
    const [host, page] = [new URL(issuer).host, new URL(url).host].map((one) => safeLine(one));
    terminal.note(`${safeLine(name)} lets ${host} sign people in. Permit nothing on a page of anybody else.`);
    if (host !== page) terminal.note(`${page} is not ${host}: go on only if both belong together.`);
    if (code !== undefined) return terminal.note(`Open ${safeLine(url)} and type: ${safeLine(code)}`);
    terminal.note(`Sign in here:\n${safeLine(url)}`);
    if (flags.browser !== false) void openInBrowser(url);
  };
  const kept = flags.device
    ? await signInByDevice(options, { signal, show })
    : await withCallback((callback) => signInByBrowser(options, { signal, show, callback }));
  const value = JSON.stringify(kept);
  const secret = { name: signInName(name), value, places: [], hosts: [], replace: true };
  await call.withOwner(VAULT_OPERATIONS, (owner) => owner.storeSecret(secret));
  const text = `Signed in at the MCP server ${name}, by ${safeLine(new URL(kept.issuer).host)}.`;
  return { json: { server: name, issuer: kept.issuer }, lines: [text] };
}

/** `lango mcp logout`: forgets a sign-in, and says whether its issuer has ended the tokens. */
export async function logout(call: McpCall, name: string): Promise<Report> {
  requireLogin(await call.readSettings(), name);
  const { deleted: _, ...end } = await call.withOwner(VAULT_OPERATIONS, (owner) =>
    owner.deleteSecret({ name: signInName(name) }),
  );
  const lines = end.isRevoked
    ? [`Signed out of the MCP server ${name}. Its issuer has ended the tokens.`]
    : [
        `Signed out of the MCP server ${name}. A running server forgets the tokens within a minute.`,
        ...unrevokedLines(end).map((line) => safeLine(line)),
      ];
  return { json: { server: name, ...end }, lines };
}

const PAGE = '<!doctype html><meta charset="utf-8"><title>Lango</title><p>';

/** Listens on a loopback address for the redirect of the browser. A redirect with another `state` changes nothing. */
async function withCallback<T>(use: (callback: Callback) => Promise<T>): Promise<T> {
  let waiting: { readonly state: string; readonly take: (address: URL) => void } | undefined;
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 10_000 }, (request, response) => {
    const address = URL.parse(request.url ?? '', url);
    const isIt =
      request.method === 'GET' &&
      address?.pathname === '/callback' &&
      waiting !== undefined &&
      address.searchParams.get('state') === waiting.state;
    response.writeHead(isIt ? 200 : 400, { 'content-type': 'text/html; charset=utf-8', connection: 'close' });
    response.end(
      `${PAGE}${isIt ? 'You can close this page. See the terminal.' : 'No sign-in waits for this request.'}`,
    );
    if (isIt) waiting?.take(address);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
  try {
    return await use({ url, receive: (state) => new Promise((take) => (waiting = { state, take })) });
  } finally {
    server.close();
    server.closeIdleConnections();
  }
}
