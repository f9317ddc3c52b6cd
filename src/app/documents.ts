import type { LoadedConfig } from '../config/load.js';
import type { HttpRoute } from '../core/http.js';
import type { Logger } from '../core/logger.js';
import type { DocumentIndex } from '../core/library.js';
import type { Scope } from '../core/task.js';
import { createDocumentsRoute } from '../http/documents-route.js';
import { openHomeStorage } from './home-storage.js';
import { openLibrary } from './knowledge-families.js';

/** Where `lango ingest` reaches the desk of a running server. */
export const DOCUMENTS_PATH = '/lango/documents';

export function documentsRoute(desk: DocumentIndex): HttpRoute {
  return createDocumentsRoute({ path: DOCUMENTS_PATH, desk });
}

/** The desk of a data folder, opened by a command while no server has it. */
interface HomeDesk {
  readonly desk: DocumentIndex;
  /** Of the server's own token. */
  readonly scope: Scope;
  close(): Promise<void>;
}

/** Undefined when a server has the data folder open. */
export async function openHomeDesk(loaded: LoadedConfig, logger: Logger): Promise<HomeDesk | undefined> {
  const home = await openHomeStorage(loaded, logger);
  if (!home) return undefined;
  const { storage, scope } = home;
  try {
    const { desk, retrieval } = await openLibrary({ ...loaded, storage, logger });
    const close = async (): Promise<void> => {
      await retrieval.close();
      await storage.close();
    };
    return { desk, scope, close };
  } catch (error) {
    await storage.close();
    throw error;
  }
}
