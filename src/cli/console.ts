import { serverUrl } from '../core/card.js';
import { LangoError } from '../core/errors.js';
import { isJsonObject } from '../core/json.js';
import { connect, type Call, type ConnectionFlags } from './connection.js';
import { ask } from './explain.js';
import { openInBrowser } from '../terminal/browser.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Report } from '../terminal/terminal.js';

interface ConsoleFlags extends ConnectionFlags {
  /** False with `--no-open`: only print the link. */
  readonly open: boolean;
}

/** `lango console`: opens the web console in the browser, signed in by a link that works once. */
export async function openConsole(call: Call<ConsoleFlags>): Promise<Report> {
  const connection = await connect(call);
  const asking = connection.fetch(serverUrl(connection.url, '/console/link'), { method: 'POST' });
  const response = await ask(connection, asking);
  const body: unknown = await response.json().catch(() => undefined);
  if (response.status === 404) {
    const hint =
      'Set console.enabled to true in its configuration. The default is true on a loopback address only.';
    throw new LangoError('not-found', `The server at ${connection.url} shows no console.`, { hint });
  }
  if (!response.ok || !isJsonObject(body)) {
    const text = `The server at ${connection.url} gave no link (HTTP ${response.status}).`;
    const hint = 'Set LANGO_TOKEN to the token that "lango serve" printed.';
    throw new LangoError('unauthenticated', text, { hint });
  }
  const { code, seconds } = body as { readonly code?: string; readonly seconds?: number };
  const place = code === undefined ? '' : `#/link/${encodeURIComponent(code)}`;
  const url = `${serverUrl(connection.url, '/console/').href}${place}`;
  const isOpened = call.flags.open && (await openInBrowser(url));
  const once = code === undefined ? '' : ` It works once, within ${seconds} seconds.`;
  const lines = isOpened
    ? [`Opened the console of ${safeLine(connection.url)}.`]
    : [safeLine(url), `Open this link in a browser.${once}`];
  return { json: { url, opened: isOpened, seconds: seconds ?? null }, lines };
}
