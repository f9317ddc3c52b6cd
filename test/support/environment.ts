import { createRequire } from 'node:module';
import v8 from 'node:v8';
import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

/**
 * Node's environment of Jest, loaded once by each worker. Jest compiles every module anew for each test file; here V8 takes
 * what it compiled of the module before, and Node itself loads some packages, once.
 */
export default class SharingEnvironment extends TestEnvironment {
  constructor(...given: ConstructorParameters<typeof TestEnvironment>) {
    super(...given);
    // What Node and shared packages make is of another realm, which a program in one realm would not see.
    for (const name of ['Error', 'RangeError', 'SyntaxError', 'TypeError', 'Promise'] as const) {
      const Own = this.global[name];
      Object.defineProperty(Own, Symbol.hasInstance, {
        value(this: unknown, value: unknown): boolean {
          return isInstance.call(this, value) || (this === Own && value instanceof globalThis[name]);
        },
      });
    }
  }
}

const isInstance = Function.prototype[Symbol.hasInstance];

// V8's own cache of compiled code holds the modules of each test file, with all that they refer to, until memory runs out.
v8.setFlagsFromString('--no-compilation-cache');

declare module 'vm' {
  interface SourceTextModule {
    /** Not in the types of Node yet. */
    createCachedData(): Buffer;
  }
}

interface Compiled {
  readonly code: string;
  readonly data: Buffer | undefined;
}

/** By the path of the file. */
const compiled = new Map<string, Compiled>();

/**
 * Packages without a state that a test sees, which Node loads once for a worker. What they make is of its realm, not of
 * that of a test.
 */
const SHARED = /\/node_modules\/(zod|jose|@bufbuild\/protobuf|jest-snapshot|yaml)\//;
const load = createRequire(import.meta.url);

const { compileFunction, SourceTextModule } = vm;

vm.compileFunction = (code, parameters, options = {}) => {
  const { filename = '' } = options;
  if (SHARED.test(filename)) return (module: { exports: unknown }) => (module.exports = load(filename));
  const cachedData = compiledFrom(code, filename);
  if (cachedData) return compileFunction(code, parameters, { ...options, cachedData });
  const made = compileFunction(code, parameters, { ...options, produceCachedData: true });
  compiled.set(filename, { code, data: made.cachedData });
  return made;
};

vm.SourceTextModule = new Proxy(SourceTextModule, {
  construct(Kind, [code, options]: [string, vm.SourceTextModuleOptions]) {
    const { identifier = '' } = options;
    if (SHARED.test(identifier)) return reexport(Kind, identifier, options);
    const cachedData = compiledFrom(code, identifier);
    try {
      if (cachedData) return new Kind(code, { ...options, cachedData });
    } catch (error) {
      // V8 refuses what it compiled before a test set a flag of it.
      if ((error as NodeJS.ErrnoException).code !== 'ERR_VM_MODULE_CACHED_DATA_REJECTED') throw error;
    }
    const made = new Kind(code, options);
    compiled.set(identifier, { code, data: made.createCachedData() });
    return made;
  },
});

/** A module of the realm of a test that exports what Node loaded from the same file. */
function reexport(
  Kind: typeof vm.SourceTextModule,
  file: string,
  options: vm.SourceTextModuleOptions,
): vm.SourceTextModule {
  const exported = load(file) as Readonly<Record<string, unknown>>;
  const names = Object.keys(exported);
  const lines = names.map(
    (name, index) => `const _${index} = import.meta.exported[${JSON.stringify(name)}];`,
  );
  const list = names.map((name, index) => `_${index} as ${JSON.stringify(name)}`);
  return new Kind(`${lines.join('\n')}\nexport { ${list.join(', ')} };`, {
    ...options,
    initializeImportMeta: (meta) => Object.assign(meta, { exported }),
  });
}

function compiledFrom(code: string, path: string): Buffer | undefined {
  const kept = compiled.get(path);
  // With `--watch` a file may have changed. V8 itself compares lengths alone.
  return kept?.code === code ? kept.data : undefined;
}
