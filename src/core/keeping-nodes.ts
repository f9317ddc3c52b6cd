import type { OperationClient, OperationTable } from './operation.js';
import type { Caller } from './identity.js';

/** A node that keeps data of owners for this one, and trusts it to name the owner of a request. */
export interface KeepingNode {
  readonly url: string;
  /** Makes the client of an owner's data there. */
  clientFor<Table extends OperationTable>(
    table: Table,
    caller: Pick<Caller, 'tenant' | 'owner' | 'scopes'>,
    signal?: AbortSignal,
  ): Promise<OperationClient<Table>>;
}
