import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE_NAME = 'lango';

/**
 * The folder of this package, with `agent-cards/` and `prompts/`: the same whether the program runs from the sources,
 * from dist/ or from node_modules. Throws if the program was moved out of its package.
 */
export function packageRoot(): string {
  const here = fileURLToPath(import.meta.url);
  let folder = dirname(here);
  while (packageIn(folder).name !== PACKAGE_NAME) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`No package.json of ${PACKAGE_NAME} was found above ${here}.`);
    folder = parent;
  }
  return folder;
}

/** The version in package.json. */
export function packageVersion(): string {
  return packageIn(packageRoot()).version!;
}

function packageIn(folder: string): { readonly name?: string; readonly version?: string } {
  const file = join(folder, 'package.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ReturnType<typeof packageIn>) : {};
}
