import type { HttpEndpoint, HttpExchange } from '../core/http.js';
import { hasJsonBody, OPERATIONS, type Operation, type OperationName } from './operations.js';
import { performCall, type OwnerService } from './service.js';

type Fields = Readonly<Record<string, unknown>>;

export interface EndpointOptions {
  readonly service: OwnerService;
  /** The size limit of a submitted document. */
  readonly maxBytes: number;
}

/** Makes a route of each operation. It works on the data of the request's caller. */
export function ownerEndpoints({ service, maxBytes }: EndpointOptions): readonly HttpEndpoint[] {
  return (Object.entries(OPERATIONS) as [OperationName, Operation][]).map(([name, operation]) => ({
    method: operation.method,
    path: operation.path,
    handle: async (exchange, params) => {
      const { tenant, owner, scopes } = await exchange.caller();
      const fields = {
        ...(await readBody(operation, exchange, maxBytes)),
        ...readQuery(operation, exchange),
        ...params,
      };
      return performCall(service, {
        name,
        fields,
        scope: { tenant, owner },
        scopes,
        signal: exchange.signal,
      });
    },
  }));
}

function readQuery({ query = [] }: Operation, exchange: HttpExchange): Fields {
  const fields = query.map((field) => [field, exchange.query.getAll(field)] as const);
  return Object.fromEntries(
    fields
      .filter(([, values]) => values.length > 0)
      .map(([field, values]) => [field, values.length === 1 ? values[0] : values]),
  );
}

async function readBody(operation: Operation, exchange: HttpExchange, maxBytes: number): Promise<Fields> {
  const { bytes } = operation;
  if (bytes !== undefined) return { [bytes]: await exchange.readBytes(maxBytes) };
  return hasJsonBody(operation) ? ((await exchange.readJson()) as Fields) : {};
}
