import { loadRemoteAgents, type CardSource, type LoadOptions } from '../../../src/a2a/client/load.js';
import { RefreshingDirectory } from '../../../src/a2a/client/directory.js';
import { silentLogger, type Logger } from '../../../src/core/logger.js';

/** Loads the agents of the sources, once and without a directory. */
export async function loadPeers(sources: readonly CardSource[], options: LoadOptions) {
  const loaded = await loadRemoteAgents(sources, options);
  return {
    peers: loaded.flatMap((one) => ('peer' in one ? [one.peer] : [])),
    skipped: loaded.flatMap((one) => ('peer' in one ? [] : [one])),
  };
}

/** Loads the agents of all sources as a node does, each once. */
export async function loadDirectory(
  sources: readonly CardSource[],
  options: LoadOptions & { readonly logger?: Logger },
) {
  const directory = new RefreshingDirectory(sources, { logger: silentLogger, ...options });
  await directory.refresh();
  const skipped = directory.states().filter(({ state }) => state === 'skipped' || state === 'held');
  return { peers: directory.list(), skipped };
}
