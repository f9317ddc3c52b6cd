import { statSync } from 'node:fs';

/** The risks that settings may take, each with its meaning. A server starts with one only if `server.allowRisks` names it. */
export const RISKS = {
  weakToken: 'a token that can be guessed is accepted',
  plainHttp: 'requests and tokens travel without TLS',
  trustProxy: 'the X-Forwarded headers are believed on an address that others may reach directly',
  readableSecrets: 'other users of this machine can read a file with secrets, which chmod 600 prevents',
  plainHttpToken: 'a token or key is sent over plain HTTP',
} as const;

export type Risk = keyof typeof RISKS;

const TOKEN_CHARACTERS = 20;
const TOKEN_BITS = 64;

/** Whether a token could be guessed: it is short, or has little entropy by an estimate from its characters. */
export function isWeakToken(token: string): boolean {
  return token.length < TOKEN_CHARACTERS || entropyOf(token) < TOKEN_BITS;
}

/**
 * Bits of entropy: those of one character by the frequencies of the characters, for each character that neither repeats
 * an earlier pair nor continues a row such as "abc" or "111".
 */
function entropyOf(token: string): number {
  const groups = [...Map.groupBy(token, (character) => character).values()];
  const shares = groups.map(({ length }) => length / token.length);
  const bits = -shares.reduce((sum, share) => sum + share * Math.log2(share), 0);
  const pairs = new Set<string>();
  for (let at = 1, step = NaN; at < token.length; at += 1) {
    const next = token.charCodeAt(at) - token.charCodeAt(at - 1);
    if (next !== step) pairs.add(token.slice(at - 1, at + 1));
    step = next;
  }
  return bits * pairs.size;
}

const READABLE_BY_ALL = 0o004;

const WRITABLE_BY_ALL = 0o002;

/** Whether every user can read the file. False for a missing file, which its reader reports. */
export function isReadableByAll(file: string): boolean {
  return hasMode(file, READABLE_BY_ALL);
}

/** Whether every user can change the file or folder. False for a missing one. */
export function isWritableByAll(file: string): boolean {
  return hasMode(file, WRITABLE_BY_ALL);
}

function hasMode(file: string, bits: number): boolean {
  const mode = process.platform === 'win32' ? 0 : (statSync(file, { throwIfNoEntry: false })?.mode ?? 0);
  return (mode & bits) !== 0;
}
