import v8 from 'node:v8';
import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

/**
 * Node's environment of Jest, loaded once by each worker. Jest compiles every module anew for each test file; here V8 takes
 * what it compiled of the module before.
 */
export default TestEnvironment;

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

const { compileFunction, SourceTextModule } = vm;

vm.compileFunction = (code, parameters, options = {}) => {
  const { filename = '' } = options;
  const cachedData = compiledFrom(code, filename);
  if (cachedData) return compileFunction(code, parameters, { ...options, cachedData });
  const made = compileFunction(code, parameters, { ...options, produceCachedData: true });
  compiled.set(filename, { code, data: made.cachedData });
  return made;
};

vm.SourceTextModule = new Proxy(SourceTextModule, {
  construct(Kind, [code, options]: [string, vm.SourceTextModuleOptions]) {
    const { identifier = '' } = options;
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

function compiledFrom(code: string, path: string): Buffer | undefined {
  const kept = compiled.get(path);
  // With `--watch` a file may have changed. V8 itself compares lengths alone.
  return kept?.code === code ? kept.data : undefined;
}
