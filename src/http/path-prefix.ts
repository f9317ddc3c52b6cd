import type { IncomingMessage } from 'node:http';

/** Segments of a path, of which none is `.` or `..`: those would lead out of the prefix. */
const PREFIX = /^((?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+)\/*$/;

/** The path that a trusted proxy has before those of this server (X-Forwarded-Prefix); empty without one. */
export function forwardedPrefix({ headers }: IncomingMessage, trustProxy: boolean): string {
  const given = headers['x-forwarded-prefix'];
  return (trustProxy && typeof given === 'string' && PREFIX.exec(given.trim())?.[1]) || '';
}

/** Removes the prefix from the path of a request, for proxies that pass it on. Other paths stay as they are. */
export function removePrefix(request: IncomingMessage, prefix: string): void {
  const { url = '/' } = request;
  if (prefix === '' || !url.startsWith(prefix)) return;
  const rest = url.slice(prefix.length);
  if (/^([/?]|$)/.test(rest)) request.url = rest.startsWith('/') ? rest : `/${rest}`;
}
