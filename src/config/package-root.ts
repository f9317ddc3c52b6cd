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
  const content = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
    version: string;
  };
  return content.version;
}

function isPackageRoot(folder: string): boolean {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return false;
  const content = JSON.parse(readFileSync(file, 'utf8')) as { name?: string };
  return content.name === PACKAGE_NAME;
}
