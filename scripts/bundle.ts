import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { basename, join } from 'node:path';
import type { Metafile, Plugin } from 'esbuild';
import { build } from 'esbuild';
import { packageRoot } from '../src/config/package-root.ts';

const root = packageRoot();
const OUT = 'dist/cli';
const NATIVE = 'better-sqlite3';
/**
 * Optional packages that are large and rarely used. Of the others, such as the vendors' SDKs, the used parts are
 * bundled.
 */
const NOT_BUNDLED = ['@x402/core', 'pg', 'playwright-core', 'viem'];

/**
 * Builds the program that users start, dist/cli/: everything that a command needs in a few files, because finding and
 * reading some 440 modules took most of the start. A lazily imported module stays a separate file. The library
 * (dist/src/) is not bundled: a program that uses it shares zod and the SDK with it.
 */
export async function bundle(): Promise<void> {
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: { main: 'src/cli/main.ts', ...(await separateEntries()) },
    outdir: OUT,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.19',
    // better-sqlite3 has a native part, the others are optional. winston and readability are loaded by path.
    external: [NATIVE, ...NOT_BUNDLED],
    // CommonJS packages load Node's modules with it.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    legalComments: 'eof',
    sourcemap: 'linked',
    sourcesContent: false,
    metafile: true,
    write: false,
    logLevel: 'warning',
    plugins: [zodInOneLanguage(), requireWhatIsOutside(), commonJsByItsNames()],
  });

  await mkdir(join(root, OUT, 'chunks'), { recursive: true });
  await Promise.all(
    outputFiles.map((file) => {
      const { path, contents } = file;
      return replace(path, path.endsWith('.js') ? Buffer.from(withFreshErrors(file.text)) : contents);
    }),
  );
  await replace(join(root, OUT, 'licenses.txt'), Buffer.from(await licenses(metafile)));
  await removeStale(metafile);
  await buildConsole();
}

/**
 * Sets the error of each `using` anew where its block begins. esbuild declares it with `var` inside of the block's `catch`,
 * so in a loop the block would throw the error of an earlier round again (0.28.2). Adds nothing to the number of lines,
 * which source maps refer to. Throws when the code has a form of it that is not known here.
 */
function withFreshErrors(code: string): string {
  return code.replace(/var (_stack\d*) = \[\];/g, (_, stack: string, at: number) => {
    const end = new RegExp(`__callDispose\\(${stack}, _error\\d*, (_hasError\\d*)\\)`);
    const [, hasError] = end.exec(code.slice(at)) ?? [];
    if (hasError === undefined)
      throw new Error(`The bundle has a ${stack} without an end that is known here.`);
    return `var ${stack} = [], ${hasError} = false;`;
  });
}

/** A thread or a process of its own runs a file that is named `*-entry`, beside the chunk that starts it. */
async function separateEntries(): Promise<Readonly<Record<string, string>>> {
  const files = await readdir(join(root, 'src'), { recursive: true });
  const entries = files.filter((file) => file.endsWith('-entry.ts'));
  return Object.fromEntries(entries.map((file) => [`chunks/${basename(file, '.ts')}`, `src/${file}`]));
}

function zodInOneLanguage(): Plugin {
  return {
    name: 'zod in one language',
    setup(builder) {
      builder.onResolve({ filter: /\/locales\/index\.js$/ }, ({ importer, resolveDir, path }) =>
        importer.includes('/node_modules/zod/') ? { path: join(resolveDir, path, '../en.js') } : undefined,
      );
    },
  };
}

/**
 * An `import` of one of Node's modules reads all its exports, which loads unused parts such as file streams and
 * WebCrypto. An `import` of a CommonJS package first searches it for exports. `require` does neither, which saves 20
 * ms.
 */
function requireWhatIsOutside(): Plugin {
  const outside = new Set([...builtinModules, ...builtinModules.map((name) => `node:${name}`), NATIVE]);
  return {
    name: 'require what is outside',
    setup(builder) {
      builder.onResolve({ filter: /^[a-z]/ }, ({ kind, path, importer }) => {
        if (kind !== 'import-statement' || !outside.has(path)) return undefined;
        // Separate for each package, so that a package which imports a whole module affects no other.
        const [, forPackage = 'lango'] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(importer) ?? [];
        return { path: `${path} for ${forPackage}`, namespace: 'outside', pluginData: path };
      });
      builder.onLoad({ filter: /^/, namespace: 'outside' }, ({ pluginData }) => ({
        contents: moduleThatRequires(pluginData as string),
      }));
    },
  };
}

/**
 * A lazy import of a CommonJS package has only a default export under esbuild, but also named exports under Node. So a
 * module in between exports the names.
 */
function commonJsByItsNames(): Plugin {
  const namespace = 'by its names';
  return {
    name: namespace,
    setup(builder) {
      builder.onResolve({ filter: /^[a-z@]/ }, ({ kind, path, resolveDir }) => {
        const isOurs = kind === 'dynamic-import' && !isOutside(path);
        return isOurs ? { path, namespace, pluginData: resolveDir } : undefined;
      });
      builder.onLoad({ filter: /^/, namespace }, async ({ path, pluginData }) => ({
        contents: await moduleWithNames(path),
        resolveDir: pluginData as string,
      }));
    },
  };
}

function isOutside(path: string): boolean {
  const isOptional = NOT_BUNDLED.some((one) => path === one || path.startsWith(`${one}/`));
  return isOptional || path.startsWith('node:') || builtinModules.includes(path);
}

/** Only in a CommonJS package, or in one like it, the default export has all the names. */
async function moduleWithNames(path: string): Promise<string> {
  const exported = (await import(path)) as Readonly<Record<string, unknown>>;
  const whole = Object(exported['default'] ?? {}) as Readonly<Record<string, unknown>>;
  const names = Object.keys(exported).filter((name) => /^(?!default$|__)\w+$/.test(name));
  const byDefault = 'default' in exported ? `export { default } from '${path}';` : '';
  if (names.some((name) => whole[name] !== exported[name])) return `export * from '${path}';\n${byDefault}`;
  // A name may be a reserved word of JavaScript.
  const parts = names.map((name, index) => `const part${index} = whole.${name};`);
  const exports = names.map((name, index) => `part${index} as ${name}`);
  return [`import whole from '${path}';`, ...parts, `export { ${exports.join(', ')} };`, byDefault].join(
    '\n',
  );
}

/** Marks modules as free of side effects, so that unused ones are left out of the bundle. */
function moduleThatRequires(name: string): string {
  const names = name === NATIVE ? [] : Object.keys(process.getBuiltinModule(name) ?? {});
  const exports = names.map((one) => `export const ${one} = /* @__PURE__ */ (() => outside.${one})();`);
  return [`const outside = require('${name}');`, 'export default outside;', ...exports].join('\n');
}

/** The license of every package with code in the bundle. */
async function licenses({ inputs }: Metafile): Promise<string> {
  const folders = Object.keys(inputs).map(
    (file) => /^node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(file)?.[0],
  );
  const texts = [...new Set(folders)].sort().map(async (folder) => {
    if (folder === undefined) return [];
    const files = (await readdir(join(root, folder))).filter((name) => /^(licen[cs]e|notice)/i.test(name));
    const parts = files.map((name) => readFile(join(root, folder, name), 'utf8'));
    return [`=== ${folder.replace(/^.*node_modules\//, '')} ===\n`, ...(await Promise.all(parts))];
  });
  return (await Promise.all(texts)).flat().join('\n');
}

/** Replaces the file in one step, because a server that runs from this clone may read it at any moment. */
async function replace(file: string, contents: Uint8Array): Promise<void> {
  const old = await readFile(file).catch(() => undefined);
  if (old?.equals(contents)) return;
  await writeFile(`${file}.new`, contents, { mode: file.endsWith('/main.js') ? 0o755 : 0o644 });
  await rename(`${file}.new`, file);
}

/** Removes the files of an earlier build, and their compiled code. */
async function removeStale({ outputs }: Metafile): Promise<void> {
  const files = await readdir(join(root, OUT, 'chunks'));
  const stale = files.filter((file) => !(`${OUT}/chunks/${file}` in outputs));
  await Promise.all(stale.map((file) => rm(join(root, OUT, 'chunks', file))));
  if (stale.length > 0) await rm(join(root, OUT, 'compiled'), { recursive: true, force: true });
}

/** Builds the console's pages, dist/console/. A script or style has a hash in its name, so browsers may keep it. */
/** With these links the browser loads what the first script imports at once, and not only when it has read the script. */
function preloadsOf({ outputs }: Metafile): readonly string[] {
  const first = Object.entries(outputs).find(([path]) => basename(path).startsWith('JS-'));
  const imports = first?.[1].imports.filter(({ kind }) => kind === 'import-statement') ?? [];
  return imports.map(({ path }) => `<link rel="modulepreload" href="${basename(path)}" />`);
}

async function buildConsole(): Promise<void> {
  const folder = 'src/console/web';
  const pages = await build({
    absWorkingDir: root,
    entryPoints: { JS: `${folder}/main.tsx`, CSS: `${folder}/console.css` },
    outdir: 'dist/console',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    metafile: true,
    logLevel: 'warning',
  });
  const files = pages.outputFiles.map(({ path, contents }) => ({ name: basename(path), contents }));
  const page = await readFile(join(root, folder, 'index.html'), 'utf8');
  const linked = page
    .replace(/"(JS|CSS)"/g, (_, kind: string) => {
      return `"${files.find(({ name }) => name.startsWith(`${kind}-`))!.name}"`;
    })
    .replace('</head>', `${preloadsOf(pages.metafile).join('')}</head>`);
  const out = join(root, 'dist/console');
  await mkdir(out, { recursive: true });
  await Promise.all(files.map(({ name, contents }) => replace(join(out, name), contents)));
  await replace(join(out, 'index.html'), Buffer.from(linked));
  await replace(join(out, 'licenses.txt'), Buffer.from(await licenses(pages.metafile)));
  const kept = new Set(['index.html', 'licenses.txt', ...files.map(({ name }) => name)]);
  const stale = (await readdir(out)).filter((name) => !kept.has(name));
  await Promise.all(stale.map((name) => rm(join(out, name))));
}
