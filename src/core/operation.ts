import type { z } from 'zod';
import type { HttpEndpoint } from './http.js';
import type { Caller } from './identity.js';
import type { Scope } from './task.js';

/** One operation on the data of its caller. The server makes a route of it, and a client makes a call of it. */
export interface Operation {
  readonly method: HttpEndpoint['method'];
  /** Each segment that begins with a colon is a field of the input, as in express. */
  readonly path: string;
  /** The fields of the input that travel in the query string. */
  readonly query?: readonly string[];
  /** The field that is the body, as bytes. Without it the remaining fields are the body, as JSON. */
  readonly bytes?: string;
  /** The right in `auth.nodes[].may` of a trusted node, the only kind of caller of such an operation. */
  readonly right?: string;
  /** The fields of the input that the audit shows. */
  readonly audited?: readonly string[];
  /** Whether a call that the rate limit refused is sent again: commands call it many times, and it is idempotent. */
  readonly isRepeated?: boolean;
  /** Which node keeps the data. Default: this one. */
  readonly keptBy?: KeptBy;
  readonly input: z.ZodObject;
  readonly result: z.ZodType;
}

/** The data is kept where the configuration says, by a kind of `Capability.keeps`, and nowhere that only a card says. */
export interface KeptBy {
  /** Begins the texts of errors: "Secrets". */
  readonly what: string;
  /** The key of `a2a.keptAt`. Without an address there, this node keeps the data for its own agents. */
  readonly kind: string;
  /** The tools that use the data. An agent of this node that has one of them shows that the data is of use here. */
  readonly tools: readonly string[];
}

/** Operations by name. They are the wire format of other versions: add optional fields, never change an existing one. */
export type OperationTable = Readonly<Record<string, Operation>>;

export type ResultOf<Op extends Operation> = z.output<Op['result']>;
/** The result that an implementation returns. */
export type Returned<Op extends Operation> = z.input<Op['result']>;

/** The owner of the data that an operation works on, and the signal of the call. */
export interface OwnerContext extends Pick<Caller, 'scopes' | 'node'> {
  readonly scope: Scope;
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal;
}

/**
 * The implementations of operations, which get checked input with defaults. Data of another owner is `not-found`, like data
 * that does not exist.
 */
export type OperationHandlers<Table extends OperationTable> = {
  readonly [Name in keyof Table]: (
    input: z.output<Table[Name]['input']>,
    context: OwnerContext,
  ) => Promise<Returned<Table[Name]>>;
};

/** The operations of an owner, on a server or in a data folder. Inputs need no defaults. Calls reject with a `LangoError`. */
export type OperationClient<Table extends OperationTable> = {
  readonly [Name in keyof Table]: (input: z.input<Table[Name]['input']>) => Promise<ResultOf<Table[Name]>>;
};

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

/** Whether some fields of the input travel in a JSON body. */
export function hasJsonBody({ path, query = [], bytes, input }: Operation): boolean {
  const fields = Object.keys(input.shape).filter(
    (field) => !query.includes(field) && !path.includes(`:${field}`),
  );
  return bytes === undefined && fields.length > 0;
}
