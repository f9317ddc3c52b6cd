import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const CAPABILITIES = 'src/capabilities';
const OUT = 'dist/built';

/** Builds what runs elsewhere than in Node's own modules. The sources find it as `#built/NAME` (see package.json). */
export async function buildModules(): Promise<void> {
  await mkdir(OUT, { recursive: true });
  await buildPageScripts();
}

/** The script that a capability runs inside web pages: `page/main.ts` in its folder. Its target is an old Chromium. */
async function buildPageScripts(): Promise<void> {
  const files = await readdir(CAPABILITIES, { recursive: true });
  const scripts = files.filter((file) => /^\w+\/page\/main\.ts$/.test(file));
  await build({
    entryPoints: Object.fromEntries(
      scripts.map((file) => [`${file.split('/', 1)[0]}-page`, join(CAPABILITIES, file)]),
    ),
    outdir: OUT,
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'chrome110',
    logLevel: 'warning',
  });
}
