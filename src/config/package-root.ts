import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE_NAME = 'lango';

/**
 * The folder of this package, with `agent-cards/` and `prompts/`: the same whether the program runs from the sources,
 * from dist/ or from node_modules. Throws if the program was moved out of its package.
 */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!isPackageRoot(folder)) {
    const parent = dirname(folder);
    if (parent === folder)
      throw new Error(
        `No package.json of ${PACKAGE_NAME} was found above ${fileURLToPath(import.meta.url)}.`,
      );
    folder = parent;
  }
  return folder;
}

/** The version in package.json. */
export function packageVersion(): string {
  return packageIn(packageRoot()).version!;
}

function isPackageRoot(folder: string): boolean {
  return existsSync(join(folder, 'package.json')) && packageIn(folder).name === PACKAGE_NAME;
}

function packageIn(folder: string): { readonly name?: string; readonly version?: string } {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as ReturnType<typeof packageIn>;
}
