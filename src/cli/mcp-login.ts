import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openMcpLogin } from '../app.js';
import type { LoadedConfig } from '../config/load.js';
import { LangoError } from '../core/errors.js';
import { silentLogger } from '../core/logger.js';
import type { OwnerClient } from '../owners/client.js';
import { openInBrowser } from './browser.js';
import { loadConfigOf } from './connection.js';
import { withOwner, type OwnerFlags } from './owner-client.js';
import { safeLine } from './safe-text.js';
import type { Call, Report } from './terminal.js';

interface LoginFlags extends OwnerFlags {
  readonly device?: boolean;
  readonly browser?: boolean;
  readonly scope?: string;
}

type LoginFlow = Awaited<ReturnType<typeof openMcpLogin>>;
type Revocation = Pick<Awaited<ReturnType<OwnerClient['deleteSecret']>>, 'isRevoked' | 'why'>;
type Callback = Parameters<LoginFlow['byBrowser']>[0]['callback'];

const WAIT_MS = 10 * 60 * 1_000;

/** `lango mcp login`: signs a person in at an MCP server, and keeps the tokens in the vault of the server. */
export async function login(name: string, call: Call<LoginFlags>): Promise<Report> {
  const { flags, terminal } = call;
  const flow = await flowOf(name, call, flags.scope?.split(' '));
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort(new LangoError('canceled', 'The sign-in was given up.')));
  const late = new LangoError('timeout', 'Nobody signed in within 10 minutes.', {
    hint: `Try again: lango mcp login ${name}`,
  });
  const timer = setTimeout(() => stop.abort(late), WAIT_MS);
  const { signal } = stop;
  try {
    const kept = await (flags.device
      ? flow.byDevice({
          signal,
          show: ({ url, code = '' }) => terminal.note(`Open ${safeLine(url)} and type: ${safeLine(code)}`),
        })
      : withCallback((callback) =>
          flow.byBrowser({
            ...{ signal, callback },
            show: ({ url }) => {
              terminal.note(`Sign in here:\n${safeLine(url)}`);
              if (flags.browser !== false) void openInBrowser(url);
            },
          }),
        ));
    const value = JSON.stringify(kept);
    const secret = { name: flow.secretName, value, places: [], hosts: [], replace: true };
    await withOwner(call, (owner) => owner.storeSecret(secret));
    const text = `Signed in at the MCP server ${name}, by ${safeLine(new URL(kept.issuer).host)}.`;
    return { json: { server: name, issuer: kept.issuer }, lines: [text] };
  } finally {
    clearTimeout(timer);
  }
}

/** `lango mcp logout`: forgets a sign-in, and says whether its issuer has ended the tokens. */
export async function logout(name: string, call: Call<OwnerFlags>): Promise<Report> {
  const { secretName } = await flowOf(name, call);
  const { deleted: _, ...end } = await withOwner(call, (owner) => owner.deleteSecret({ name: secretName }));
  const lines = end.isRevoked
    ? [`Signed out of the MCP server ${name}. Its issuer has ended the tokens.`]
    : [
        `Signed out of the MCP server ${name}. A running server forgets the tokens within a minute.`,
        ...revocationLines(end),
      ];
  return { json: { server: name, ...end }, lines };
}

/** Says why the tokens of a deleted sign-in did not end. */
export function revocationLines({ isRevoked, why = '' }: Revocation): readonly string[] {
  return isRevoked === false ? [safeLine(`Not all of the tokens have ended. ${why}`)] : [];
}

async function flowOf(
  name: string,
  call: Pick<Call<OwnerFlags>, 'flags' | 'env'>,
  scopes: readonly string[] = [],
): Promise<LoginFlow> {
  return openMcpLogin({ ...(await loadConfigOf(call)), logger: silentLogger }, name, scopes);
}

/** Says whether this person is signed in at an MCP server. Only the running server can use the sign-in. */
export async function loginFinding(
  name: string,
  loaded: LoadedConfig,
  call: Pick<Call<OwnerFlags>, 'flags' | 'env'>,
) {
  const { secretName } = await openMcpLogin({ ...loaded, logger: silentLogger }, name);
  const subject = `mcp ${name}`;
  const { secrets } = await withOwner(call, (owner) => owner.listSecrets({}));
  const kept = secrets.find((secret) => secret.name === secretName);
  if (!kept) {
    const hint = `Run: lango mcp login ${name}`;
    return { code: 'mcp-login', subject, state: 'warn', text: 'you are not signed in', hint } as const;
  }
  const since = new Date(kept.updatedAt).toISOString().slice(0, 10);
  return { code: 'mcp', subject, state: 'ok', text: `you are signed in (${since})` } as const;
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
      `${PAGE}${isIt ? 'You can close this page. See the terminal.' : 'This is no answer to a sign-in.'}`,
    );
    if (isIt) waiting?.take(address);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
  try {
    return await use({
      url,
      receive: (state) => new Promise((take) => (waiting = { state, take })),
    });
  } finally {
    server.close();
    server.closeIdleConnections();
  }
}
