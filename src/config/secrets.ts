import { randomBytes } from 'node:crypto';
import { link, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../core/causes.js';
import { errorText, isLangoError, LangoError } from '../core/errors.js';
import type { Settings } from './schema.js';

/** What must not reach a log. Kept apart from `Config`, which may. */
export interface Secrets {
  /** Undefined when neither file nor environment has one: see `loadOrCreateToken`. */
  readonly token: string | undefined;
  /** For the provider that the configuration chose. */
  readonly modelApiKey: string | undefined;
  /** For the embedding provider. */
  readonly embeddingApiKey: string | undefined;
  readonly webSearchApiKey: string | undefined;
  /** The bearer tokens of remote agents, by their name. */
  readonly remoteTokens: ReadonlyMap<string, string>;
  /** What the vault's master key is made from; undefined when that is in a file. */
  readonly vaultPassphrase: string | undefined;
}

const TOKEN_BYTES = 32;
const TOKEN_PATTERN = /^[\x21-\x7e]+$/;
const ANYONE_ELSE = 0o077;

export function secretsOf({ auth, model, embedding, webSearch, a2a, vault }: Settings): Secrets {
  return {
    token: auth.token,
    modelApiKey: model.apiKey,
    embeddingApiKey: embedding.apiKey,
    webSearchApiKey: webSearch.apiKey,
    vaultPassphrase: vault.passphrase,
    remoteTokens: new Map(
      a2a.remoteAgents.flatMap(({ name, token }) => (token === undefined ? [] : [[name, token] as const])),
    ),
  };
}

/** Every value, for the log's redaction. */
export function secretValues({ remoteTokens, ...secrets }: Secrets): readonly string[] {
  return [...Object.values(secrets), ...remoteTokens.values()].filter((value) => value !== undefined);
}

/**
 * The token of this data folder; made at the first call, in a file that only its owner can read. Two
 * processes that start at once get the same one. Throws `invalid-config` for a file that others can
 * read, and `storage` when the folder cannot be used.
 */
export async function loadOrCreateToken(home: string): Promise<string> {
  return (await loadToken(home)) ?? (await createToken(home));
}

/** The token of this data folder, or undefined when none was made yet. Throws like `loadOrCreateToken`. */
export async function loadToken(home: string): Promise<string | undefined> {
  const file = join(home, 'token');
  try {
    const handle = await open(file, 'r');
    try {
      const { mode } = await handle.stat();
      if ((mode & ANYONE_ELSE) !== 0 && process.platform !== 'win32') {
        throw new LangoError('invalid-config', `The token file ${file} can be read by other users.`, {
          hint: `Run: chmod 600 ${file}`,
        });
      }
      return checkedToken((await handle.readFile('utf8')).trim(), file);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw isLangoError(error) ? error : folderError(home, error);
  }
}

function checkedToken(token: string, file: string): string {
  if (TOKEN_PATTERN.test(token)) return token;
  throw new LangoError('invalid-config', `The token file ${file} does not hold a token.`, {
    hint: 'Delete it, and a new one is made at the next start.',
  });
}

/** Written beside and linked into place, so that nobody ever reads half a token. */
async function createToken(home: string): Promise<string> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const draft = join(home, `token.${process.pid}.${randomBytes(4).toString('hex')}`);
  try {
    await mkdir(home, { recursive: true, mode: 0o700 });
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(`${token}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(draft, join(home, 'token'));
    return token;
  } catch (error) {
    const winner = codeOf(error) === 'EEXIST' ? await loadToken(home) : undefined;
    if (winner === undefined) throw folderError(home, error);
    return winner;
  } finally {
    await rm(draft, { force: true }).catch(() => undefined);
  }
}

function folderError(home: string, cause: unknown): LangoError {
  return new LangoError('storage', `The data folder ${home} cannot be used: ${errorText(cause)}.`, {
    hint: 'Set LANGO_HOME to a folder that you can write to.',
    cause,
  });
}
