import type { HttpRoute } from '../core/http.js';
import type { DocumentIndex } from '../core/library.js';
import type { DataParts } from './data.js';
import { dataRoute } from './data.js';
import { documentsRoute } from './documents.js';
import type { VaultAccess } from './vault.js';
import { secretsRoute } from './vault.js';
import { walletRoute } from './wallet.js';

/** Where callers look after what is theirs, for the command line while the server has it open. */
export function ownerRoutes(
  parts: DataParts & { readonly vault: VaultAccess; readonly desk: DocumentIndex },
): readonly HttpRoute[] {
  return [secretsRoute(parts.vault), walletRoute(parts.vault), dataRoute(parts), documentsRoute(parts.desk)];
}
