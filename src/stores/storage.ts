import type { LangoError } from '../core/errors.js';
import type { PushStore } from './pushes.js';
import type { ExtractionStore, GraphStore } from '../capabilities/knowledge/stores/graph.js';
import type { KnowledgeStore } from '../capabilities/knowledge/stores/knowledge.js';
import type { LibraryStore } from '../capabilities/knowledge/stores/library.js';
import type { MemoryStore } from '../capabilities/memory/memory-store.js';
import type { PaymentStore } from '../capabilities/payments/payment-store.js';
import type { SpendingStore } from './spending.js';
import type { RetentionStore, TaskStore } from './tasks.js';
import type { TraceStore } from './traces.js';
import type { VaultStore } from '../core/vault.js';

/** A database with all stores. There is one implementation per kind of database. */
export interface Storage {
  /** The stable name of the node whose database this is. */
  readonly nodeId: string;
  /** The error of the last commit; undefined if it succeeded. While there is a problem, the store itself retries a write. */
  problem(): LangoError | undefined;
  readonly tasks: TaskStore;
  readonly retention: RetentionStore;
  readonly payments: PaymentStore;
  readonly graph: GraphStore;
  readonly extraction: ExtractionStore;
  readonly vault: VaultStore;
  readonly memory: MemoryStore;
  readonly pushes: PushStore;
  readonly traces: TraceStore;
  readonly spending: SpendingStore;
  readonly knowledge: KnowledgeStore;
  readonly library: LibraryStore;
  /**
   * Removes the remains of deleted data from the files. Takes seconds for a large database, in steps, so that other work is
   * not held up. Rejects with `storage`.
   */
  purge(): Promise<void>;
  /** Finishes earlier calls and closes. Later calls of any store reject with `storage`. Never rejects. */
  close(): Promise<void>;
}
