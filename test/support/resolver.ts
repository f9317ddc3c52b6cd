import type { SyncResolver } from 'jest-resolve';

/**
 * Resolves an import of a test: a name that ends in .js may be a file in TypeScript. Jest remembers what a resolver
 * returns, while it would look a moduleNameMapper up again for each file of tests.
 */
export const sync: SyncResolver = (name, options) => {
  // The resolver below the one of jest knows this, but the types do not.
  const ofSources = { ...options, extensionAlias: { '.js': ['.ts', '.js'] } };
  return options.defaultResolver(name, name.startsWith('.') ? ofSources : options);
};
