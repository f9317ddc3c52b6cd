import { isLangoError, LangoError } from '../core/errors.js';
import type { HttpEndpoint, HttpExchange } from '../core/http.js';
import { readingOnly, type Audit, type AuditEntry, type Caller } from '../core/identity.js';
import { oneLine, shorten } from '../core/text.js';
import { hasJsonBody, type Operation, type OperationTable } from '../core/operation.js';
import { performCall, type OwnerService } from './service.js';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Makes a route of each operation, on the data of the request's caller. `audit` records each operation that
 * changes something, and each read of other people's data by an operator.
 */
export function ownerEndpoints(service: OwnerService, audit: Audit): readonly HttpEndpoint[] {
  return Object.entries(service.table).map(([name, operation]) => ({
    method: operation.method,
    path: operation.path,
    handle: async (exchange, params) => {
      const caller = await exchange.caller();
      const { views, scopes, node } = caller;
      const { tenant, owner } = views ?? caller;
      const scope = { tenant, owner };
      const isChange = operation.method !== 'get';
      let about: Pick<AuditEntry, 'subject'> = {};
      const note = (outcome: AuditEntry['outcome']): void => {
        if (!isChange && !views) return;
        const by = views ? caller.owner : node?.name;
        const from = exchange.address;
        audit({ operation: name, outcome, caller: scope, by, ...about, from });
      };
      const refusal = views && isChange ? readingOnly(views) : refusalOf(operation, caller);
      if (refusal) {
        note('forbidden');
        throw refusal;
      }
      const body = await readBody(operation, exchange, service.bodyBytes(name));
      const fields = { ...body, ...readQuery(operation, exchange), ...params };
      if (operation.audited) about = { subject: textOf(fields, operation.audited) };
      const { signal } = exchange;
      try {
        const result = await performCall(service, { name, fields, scope, scopes, node, signal });
        note('ok');
        return result;
      } catch (error) {
        note(isLangoError(error) ? error.code : 'internal');
        throw error;
      }
    },
  }));
}

/** The right with which a node may ask for a path; undefined when the path has no operation for nodes. */
export function rightForPath(table: OperationTable, path: string): string | undefined {
  const operations = Object.values(table);
  const isAt = (pattern: string) => new RegExp(`^${pattern.replace(/:\w+/g, '[^/]+')}$`).test(path);
  return operations.find((operation) => operation.right !== undefined && isAt(operation.path))?.right;
}

const MAX_SUBJECT = 400;

function textOf(fields: Fields, names: readonly string[]): string {
  const values = names.flatMap((name) => (typeof fields[name] === 'string' ? fields[name] : []));
  return shorten(oneLine(values.join(' ')), MAX_SUBJECT);
}

/** The error for a caller who lacks the right to an operation for nodes; undefined for one who may call it. */
function refusalOf({ right }: Operation, { node }: Caller): LangoError | undefined {
  if (right === undefined || node?.may.includes(right)) return undefined;
  const hint = `This server names such nodes in auth.nodes, with may: [${right}].`;
  return new LangoError('forbidden', 'Only a trusted node may call this, on behalf of an owner.', { hint });
}

function readQuery({ query = [] }: Operation, exchange: HttpExchange): Fields {
  const fields = query.filter((field) => exchange.query.has(field));
  const valueOf = (all: readonly string[]) => (all.length === 1 ? all[0] : all);
  return Object.fromEntries(fields.map((field) => [field, valueOf(exchange.query.getAll(field))]));
}

async function readBody(operation: Operation, exchange: HttpExchange, maxBytes: number): Promise<Fields> {
  const { bytes } = operation;
  if (bytes !== undefined) return { [bytes]: await exchange.readBytes(maxBytes) };
  return hasJsonBody(operation) ? ((await exchange.readJson()) as Fields) : {};
}
