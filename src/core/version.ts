/** Whether a version is this one or newer, number by number: "22.9.0" is older than "22.19". */
export function isAtLeast(version: string, oldest: string): boolean {
  // Not localeCompare: its tables take 10 ms to load, at every start.
  const numbers = version.split('.').map(Number);
  const wanted = oldest.split('.').map(Number);
  const different = wanted.findIndex((number, place) => number !== (numbers[place] ?? 0));
  return different === -1 || (numbers[different] ?? 0) > wanted[different]!;
}
