import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { Quirk } from './quirk.js';

/** A file of `cases/`: its name without the ending, and its cases. */
export interface Topic {
  readonly name: string;
  readonly quirks: readonly Quirk[];
}

/** All tables of `cases/`, by the names of their files. */
export async function allTopics(): Promise<readonly Topic[]> {
  const names = readdirSync('test/quirks/cases').map((file) => path.parse(file).name);
  return Promise.all(
    names.sort().map(async (name) => {
      const exported = (await import(`./cases/${name}.js`)) as Readonly<Record<string, readonly Quirk[]>>;
      return { name, quirks: Object.values(exported).flat() };
    }),
  );
}
