import { KeptCredential, type LoadedValues } from '../../core/credential.js';
import { isLangoError, LangoError } from '../../core/errors.js';
import { parseJson } from '../../core/json.js';
import { createOriginFetch } from '../../core/origin-fetch.js';
import type { Services } from '../../core/service.js';
import type { Scope } from '../../core/task.js';
import { pause } from '../../core/time.js';
import { SIGN_INS, VAULT } from '../../core/vault.js';
import { assertScope, type LoginOptions } from './issuer.js';
import { notSignedIn, renew, revoke, signIn, type SignIn } from './login.js';

export const ISSUER_TIMEOUT_MS = 15_000;
/** The longest time in which a process renews tokens; others wait for that long. */
const RENEWAL_MS = 2 * ISSUER_TIMEOUT_MS;
const RENEWAL_CHECK_MS = 250;
/** A token that ends sooner is renewed. */
const MARGIN_MS = 30_000;

/** The name of the secret that holds a person's sign-in at a server. */
export function signInName(server: string): string {
  return SIGN_INS + server;
}

/** The longest time that tokens stay in memory, also after a logout. */
const KEPT_SECONDS = 60;

interface KeptSignIn {
  readonly options: LoginOptions;
  readonly services: Services;
  /** The owner who signed in. */
  readonly scope: Scope;
}

/** A `fetch` that shows the access token of the person who signed in, to the origin of the server only. */
export function signedInFetch(kept: KeptSignIn, send: typeof fetch): typeof fetch {
  const { options } = kept;
  let refused: string | null = null;
  const credential = new KeptCredential([{ type: 'bearer' }], async (): Promise<LoadedValues> => {
    const { accessToken, expiresAt } = await currentSignIn(kept, refused);
    const seconds = Math.max(1, Math.min(KEPT_SECONDS, (expiresAt - Date.now()) / 1_000));
    return { shown: { headers: { authorization: bearer(accessToken) } }, seconds };
  });
  const scoped: typeof fetch = async (input, init) => {
    const response = await send(input, init);
    if (response.status === 401) refused = new Headers(init?.headers).get('authorization');
    if (response.status === 403) await assertScope(response, options);
    return response;
  };
  const bound = createOriginFetch({ fetch: scoped, origin: new URL(options.url).origin, credential });
  return async (input, init) => {
    try {
      return await bound(input, init);
    } catch (error) {
      throw isLangoError(error, 'unauthenticated') ? notSignedIn(options) : error;
    }
  };
}

const bearer = (token: string): string => `Bearer ${token}`;

/** Reads the sign-in from the vault, and renews it when it ends soon or the server refused its token. */
async function currentSignIn(
  { options, services, scope }: KeptSignIn,
  refused: string | null,
): Promise<SignIn> {
  const open = services.find(VAULT);
  if (!open) {
    const hint = 'Ask an agent that has its tools: lango send --agent operator "…"';
    throw new LangoError('unavailable', `Only the server uses the sign-in at ${options.name}.`, { hint });
  }
  const { secrets } = await open();
  const name = signInName(options.name);
  const isCurrent = ({ accessToken, expiresAt, refreshToken }: SignIn) =>
    bearer(accessToken) !== refused && expiresAt - Date.now() >= (refreshToken === undefined ? 0 : MARGIN_MS);
  const until = Date.now() + RENEWAL_MS;
  for (;;) {
    const entry = await secrets.open(scope, name);
    const kept = signInIn(entry?.value);
    // A changed address is another server: the tokens are not for it.
    const isFor = kept?.url === options.url && (options.issuer ?? kept.issuer) === kept.issuer;
    if (!entry || !kept || !isFor) throw notSignedIn(options);
    if (isCurrent(kept)) return kept;
    const put = (value: SignIn, version: number) =>
      secrets.store(scope, {
        ...{ name, value: JSON.stringify(value), places: [], hosts: [], replace: true },
        expected: version,
      });
    // A refresh token often works once: of all processes, the one whose mark is stored first uses it.
    const isFree = (kept.renewedSince ?? 0) < Date.now() - RENEWAL_MS;
    const mark =
      isFree && (await put({ ...kept, renewedSince: Date.now() }, entry.version).catch(undefinedOnConflict));
    if (mark) {
      const renewed = await renew(options, kept).catch(async (error: unknown) => {
        await put({ ...kept, renewedSince: undefined }, mark.version).catch(undefinedOnConflict);
        throw error;
      });
      if (await put(renewed, mark.version).catch(undefinedOnConflict)) return renewed;
      // After a logout in the meantime, nobody may use the new tokens. After another sign-in, its tokens are used.
      if (!(await secrets.open(scope, name))) await revoke(options, renewed).catch(() => undefined);
    }
    if (Date.now() > until) {
      const problem = `The sign-in at the MCP server ${options.name} is not renewed yet.`;
      throw new LangoError('timeout', problem, { retryable: true });
    }
    await pause(RENEWAL_CHECK_MS, { ref: false });
  }
}

function undefinedOnConflict(error: unknown): undefined {
  if (!isLangoError(error, 'conflict')) throw error;
}

/** Reads a sign-in from the vault. Returns undefined for one that cannot be read. */
export function signInIn(value: Uint8Array | undefined): SignIn | undefined {
  return signIn.safeParse(parseJson(Buffer.from(value ?? []).toString('utf8'))).data;
}
