import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE_NAME = 'lango';

/**
 * The folder of this package, where the shipped `agent-cards/` and `prompts/` stand: the same from the
 * sources, from dist/ and from node_modules. Throws when the program was taken out of its package.
 */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!isPackageRoot(folder)) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`no package.json of ${PACKAGE_NAME} stands above this file`);
    folder = parent;
  }
  return folder;
}

/** The version of this program, as its package says. */
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
