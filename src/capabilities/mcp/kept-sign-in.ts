import { errorText, isLangoError, LangoError } from '../../core/errors.js';
import { parseJson } from '../../core/json.js';
import type { Scope } from '../../core/task.js';
import { pause } from '../../core/time.js';
import { SIGN_INS, type OpenedEntry, type Revocation, type SecretStore } from '../../core/vault.js';
import type { LoginOptions } from './issuer.js';
import { notSignedIn, renew, revoke, signIn, type SignIn } from './login.js';

/** The secrets of owners, with their values. */
export interface OwnSecrets extends Pick<SecretStore, 'store'> {
  open(scope: Scope, name: string): Promise<OpenedEntry | undefined>;
}

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

interface KeptSignIn {
  readonly options: LoginOptions;
  readonly secrets: OwnSecrets;
  /** The owner who signed in. */
  readonly scope: Scope;
  /** The token that the server refused last. */
  readonly refusedToken: string | undefined;
}

/** Reads the sign-in from the vault, and renews it when it ends soon or was refused. */
export async function currentSignIn(parts: KeptSignIn): Promise<SignIn> {
  const { options, secrets, scope, refusedToken } = parts;
  const name = signInName(options.name);
  const isCurrent = ({ accessToken, expiresAt, refreshToken }: SignIn) =>
    accessToken !== refusedToken && expiresAt - Date.now() >= (refreshToken === undefined ? 0 : MARGIN_MS);
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

/** Lets the issuer end the tokens of a sign-in. Never rejects. `value` is undefined when the vault could not open it. */
export async function endSignIn(options: LoginOptions, value: Uint8Array | undefined): Promise<Revocation> {
  const kept = signInIn(value);
  if (!kept) return { isRevoked: false, why: 'The kept tokens cannot be read.' };
  try {
    await revoke(options, kept);
    return { isRevoked: true };
  } catch (error) {
    return { isRevoked: false, why: errorText(error) };
  }
}

function undefinedOnConflict(error: unknown): undefined {
  if (!isLangoError(error, 'conflict')) throw error;
}

function signInIn(value: Uint8Array | undefined): SignIn | undefined {
  return signIn.safeParse(parseJson(Buffer.from(value ?? []).toString('utf8'))).data;
}
