import type * as Jest from '@jest/globals';
import { createRequire, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

/** A runner of test files, as Jest calls it: with two configurations, an environment, a module system, a path and a sender. */
type Runner = (...given: [unknown, unknown, unknown, Runtime, ...unknown[]]) => unknown;

/** The members of the module system of Jest that matter here. */
interface Runtime {
  requireModuleOrMock(from: string, name: string): typeof Jest;
}

const load = createRequire(import.meta.url);
const { default: runInCircus } = load('jest-circus/runner') as { default: Runner };

const GLOBALS = new URL('globals.ts', import.meta.url).href;
const TESTS = new URL('..', import.meta.url).href;

registerHooks({
  resolve(name, context, next) {
    if (name === '@jest/globals') return next(GLOBALS, context);
    const [parent, number] = context.parentURL?.split('?') ?? [];
    if (!name.startsWith('.') || !parent?.endsWith('.ts')) return next(name, context);
    const found = next(name.replace(/\.js$/, '.ts'), context);
    // Each test file gets helpers of its own, as many have a state.
    return number !== undefined && found.url.startsWith(TESTS)
      ? { ...found, url: `${found.url}?${number}` }
      : found;
  },
});
const { setGlobals } = await import('./globals.js');

let files = 0;

/** Lets Node load a test file and all that it imports, in place of Jest, which would load each module for each file. */
const run: Runner = (...given) => {
  const runtime = given[3];
  const native = {
    requireInternalModule: (path: string): unknown => {
      // The tests of the file before are in the state of the module.
      delete load.cache[path];
      return load(path);
    },
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: (path: string): Promise<unknown> => {
      setGlobals(runtime.requireModuleOrMock(path, '@jest/globals'));
      files += 1;
      return import(`${pathToFileURL(path).href}?${files}`);
    },
  };
  given[3] = Object.assign(Object.create(runtime) as Runtime, native);
  return runInCircus(...given);
};
export default run;
