/** Returns one key for all spellings of a name that differ only in case, white space or Unicode form. */
export function nameKey(name: string): string {
  return name.normalize('NFKC').trim().replace(/\s+/gu, ' ').toLowerCase();
}
