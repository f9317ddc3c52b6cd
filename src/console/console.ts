import { showsConsole } from '../core/addresses.js';
import type { CreateFetch } from '../core/http.js';
import { OidcSignIn } from './oidc.js';
import { createConsoleRoute, isConsolePath } from './routes.js';
import { Sessions } from './sessions.js';

interface ConsoleSettings {
  readonly console: {
    readonly enabled?: boolean | undefined;
    readonly oidc: { readonly clientId?: string | undefined; readonly scope: string };
  };
  readonly server: { readonly host: string };
  readonly auth: { readonly mode: string; readonly jwt: { readonly issuer?: string | undefined } };
}

/** `folder`: that of the built pages. */
type ConsoleParts = Readonly<{ folder: string; createFetch: CreateFetch }>;

const ISSUER_TIMEOUT_MS = 10_000;
const ISSUER_BYTES = 256 * 1024;

/** Opens the console; undefined when it is off. */
export function openConsole(settings: ConsoleSettings, parts: ConsoleParts) {
  if (!showsConsole(settings)) return undefined;
  const sessions = new Sessions();
  const oidc = openOidc(settings, parts);
  return {
    route: createConsoleRoute({ folder: parts.folder, sessions, oidc }),
    claims: isConsolePath,
    sessionAuthorization: sessions.authorizationOf.bind(sessions),
  };
}

function openOidc({ auth, console }: ConsoleSettings, { createFetch }: ConsoleParts): OidcSignIn | undefined {
  const { issuer } = auth.jwt;
  const { clientId, scope } = console.oidc;
  if (auth.mode !== 'jwt' || issuer === undefined || clientId === undefined) return undefined;
  const rules = { configuredUrl: issuer, timeoutMs: ISSUER_TIMEOUT_MS, maxBytes: ISSUER_BYTES };
  return new OidcSignIn({ issuer, clientId, scope, fetch: createFetch(rules) });
}
