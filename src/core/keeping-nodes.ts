import type { OperationClient, OperationTable } from './operation.js';
import type { Scope } from './task.js';

/** A node that keeps data of owners for this one, and trusts it to name the owner of a request. */
export interface KeepingNode {
  readonly url: string;
  /** Makes the client of an owner's data there. */
  clientFor<Table extends OperationTable>(
    table: Table,
    scope: Scope,
    signal?: AbortSignal,
  ): Promise<OperationClient<Table>>;
}
