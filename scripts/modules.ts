import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import openWabt from 'wabt';

const CAPABILITIES = 'src/capabilities';
const OUT = 'dist/built';

/** Builds what runs elsewhere than in Node's own modules. The sources find it as `#built/NAME` (see package.json). */
export async function buildModules(): Promise<void> {
  await mkdir(OUT, { recursive: true });
  const files = await readdir(CAPABILITIES, { recursive: true });
  await buildPageScripts(files.filter((file) => /^\w+\/page\/main\.ts$/.test(file)));
  await assemble(files.filter((file) => file.endsWith('.wat')));
}

/** The script that a capability runs inside web pages: `page/main.ts` in its folder. Its target is an old Chromium. */
async function buildPageScripts(files: readonly string[]): Promise<void> {
  await build({
    entryPoints: Object.fromEntries(
      files.map((file) => [`${file.split('/', 1)[0]}-page`, join(CAPABILITIES, file)]),
    ),
    outdir: OUT,
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'chrome110',
    logLevel: 'warning',
  });
}

/** WebAssembly, which is written as text. */
async function assemble(files: readonly string[]): Promise<void> {
  const wabt = await openWabt();
  for (const file of files) {
    const module = wabt.parseWat(file, await readFile(join(CAPABILITIES, file)));
    await writeFile(join(OUT, basename(file).replace(/wat$/, 'wasm')), module.toBinary({}).buffer);
    module.destroy();
  }
}
