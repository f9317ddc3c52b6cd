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

/** The version of this package, as its cards and its command line tell it. */
export function packageVersion(): string {
  return readPackage(packageRoot())?.version ?? '0.0.0';
}

function isPackageRoot(folder: string): boolean {
  return readPackage(folder)?.name === PACKAGE_NAME;
}

function readPackage(folder: string): { readonly name?: string; readonly version?: string } | undefined {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return undefined;
  return JSON.parse(readFileSync(file, 'utf8')) as { name?: string; version?: string };
}
