/**
 * Where a secret may go: `exec`, a command's environment; `http`, a header of a request; `browser`, a field of a page.
 * The last two also need the host.
 */
export const SECRET_PLACES = ['exec', 'http', 'browser'] as const;
export type SecretPlace = (typeof SECRET_PLACES)[number];

const REFERENCE = /\{\{secret:([A-Za-z][A-Za-z0-9_.-]{0,63})\}\}/g;

export function secretReference(name: string): string {
  return `{{secret:${name}}}`;
}

/** The names that `text` refers to, each once. */
export function referencedSecrets(text: string): readonly string[] {
  return text.includes('{{secret:')
    ? [...new Set([...text.matchAll(REFERENCE)].map(([, name]) => name!))]
    : [];
}

/** `text` with each reference replaced by what `valueOf` gives for its name. */
export function replaceReferences(text: string, valueOf: (name: string) => string): string {
  return text.replace(REFERENCE, (_, name: string) => valueOf(name));
}
