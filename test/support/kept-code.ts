import vm from 'node:vm';
import JestRuntime from 'jest-runtime';

/**
 * The runtime of jest, which keeps what V8 compiled of a module for the next file of tests in the same process. Jest
 * loads the 400 modules of the program anew for each file, and most of that time is their compilation.
 */

interface Kept {
  readonly code: string;
  readonly compiled: Buffer;
}

const kept = new Map<string, Kept>();

class KeptModule extends vm.SourceTextModule {
  declare createCachedData: () => Buffer;

  constructor(code: string, options: vm.SourceTextModuleOptions) {
    const { identifier = '' } = options;
    const known = kept.get(identifier);
    const isSame = known?.code === code;
    super(code, isSame ? { ...options, cachedData: known.compiled } : options);
    if (!isSame) kept.set(identifier, { code, compiled: this.createCachedData() });
  }
}

// Jest reads the class from here for each module.
vm.SourceTextModule = KeptModule;

/** The whole module for a caller of `require`. */
export { JestRuntime as 'module.exports' };
