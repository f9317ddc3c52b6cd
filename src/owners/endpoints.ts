import { isLangoError } from '../core/errors.js';
import type { HttpEndpoint, HttpExchange } from '../core/http.js';
import { readingOnly, type Audit, type AuditEntry } from '../core/identity.js';
import { hasJsonBody, OPERATIONS, type Operation, type OperationName } from './operations.js';
import { performCall, type OwnerService } from './service.js';

type Fields = Readonly<Record<string, unknown>>;

export interface EndpointOptions {
  readonly service: OwnerService;
  /** The size limit of a submitted document. */
  readonly maxBytes: number;
  /** Records each operation that changes something, and what operators read of other people. */
  readonly audit: Audit;
}

/** Makes a route of each operation. It works on the data of the request's caller. */
export function ownerEndpoints({ service, maxBytes, audit }: EndpointOptions): readonly HttpEndpoint[] {
  return (Object.entries(OPERATIONS) as [OperationName, Operation][]).map(([name, operation]) => ({
    method: operation.method,
    path: operation.path,
    handle: async (exchange, params) => {
      const caller = await exchange.caller();
      const { views, scopes } = caller;
      const { tenant, owner } = views ?? caller;
      const isChange = operation.method !== 'get';
      const note = (outcome: AuditEntry['outcome']): void => {
        if (!isChange && !views) return;
        const by = views && { by: caller.owner };
        audit({ operation: name, outcome, caller: { tenant, owner }, ...by, from: exchange.address });
      };
      if (views && isChange) {
        note('forbidden');
        throw readingOnly(views);
      }
      const fields = {
        ...(await readBody(operation, exchange, maxBytes)),
        ...readQuery(operation, exchange),
        ...params,
      };
      const { signal } = exchange;
      try {
        const result = await performCall(service, { name, fields, scope: { tenant, owner }, scopes, signal });
        note('ok');
        return result;
      } catch (error) {
        note(isLangoError(error) ? error.code : 'internal');
        throw error;
      }
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
