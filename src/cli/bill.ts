import { addUsage, NO_USAGE, type Usage } from '../core/model.js';
import { defined } from '../core/json.js';
import type { OperationClient, ResultOf } from '../core/operation.js';
import { pagesOf } from '../core/page.js';
import { createOwnerClient } from '../owners/client.js';
import { shortNodeName } from '../core/agent.js';
import { SERVER_OPERATIONS, type ServerOperations } from '../owners/operations.js';
import { connect, type Call, type Connection } from './connection.js';
import { ask } from './explain.js';
import { withOwner, type OwnerFlags } from './owner-client.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Report } from '../terminal/terminal.js';

type BillFlags = OwnerFlags & { readonly by: 'agent' | 'model' | 'day' | 'node' | 'owner' };

type Row = ResultOf<ServerOperations['readBill']>['rows'][number];
type Bills = Pick<OperationClient<ServerOperations>, 'readBill'>;
type Groups = Map<string, { name: string; currency: string; usage: Usage }>;

/** `lango bill`: tokens and money by agent, model, day or node; for operators by owner. */
export async function bill({ flags, env }: Call<BillFlags>): Promise<Report> {
  const { by } = flags;
  const groups: Groups = new Map();
  let nodes: ReadonlyMap<string, string> = new Map();
  if (by === 'owner') {
    const connection = await connect({ flags, env });
    await ask(connection, addOwners(groups, connection));
  } else {
    await withOwner(SERVER_OPERATIONS, { flags, env }, async (owner) => {
      await addBill(groups, owner, (row) => row[by]);
      // Without a running server only the node whose data folder it is has a name.
      if (by === 'node') nodes = new Map((await owner.readNodes({})).nodes.map(({ id, name }) => [id, name]));
    });
  }
  const json = [...groups.values()].map(({ name, currency, usage: { rows = [], ...tokens } }) => ({
    name,
    ...(by === 'node' && defined({ nodeName: nodes.get(name) })),
    currency,
    ...tokens,
    cost: rows.reduce((sum, { cost = 0 }) => Math.round((sum + cost) * 1e9) / 1e9, 0),
    unpriced: rows.some(({ cost }) => cost === undefined),
  }));
  json.sort((a, b) => a.name.localeCompare(b.name));
  const names = json.map(({ name }) =>
    safeLine(by === 'node' ? (nodes.get(name) ?? shortNodeName(name)) : name),
  );
  const width = Math.max(...names.map(({ length }) => length), 0);
  const lines = json.map(({ input, output, cost, currency, unpriced }, index) => {
    const money = `${cost.toFixed(4)} ${safeLine(currency)}${unpriced ? ' and calls without a price' : ''}`;
    const tokens = `${input.toLocaleString('en-US')} in, ${output.toLocaleString('en-US')} out`;
    return `${names[index]!.padEnd(width)}  ${tokens}  ${money}`;
  });
  return { json: { by, bill: json }, lines: lines.length > 0 ? lines : ['No model was used yet.'] };
}

async function addBill(groups: Groups, owner: Bills, nameOf: (row: Row) => string): Promise<void> {
  for await (const { rows } of pagesOf((after) => owner.readBill({ after }))) {
    for (const each of rows) {
      const { day: _, ...row } = each;
      const { currency } = row;
      const name = nameOf(each);
      const key = JSON.stringify([name, currency]);
      const known = groups.get(key)?.usage ?? NO_USAGE;
      groups.set(key, { name, currency, usage: addUsage(known, { ...row, rows: [row] }) });
    }
  }
}

/** An operator reads the bill of each owner, which the audit log of the server notes. Rejects with `forbidden` for others. */
async function addOwners(groups: Groups, { url, fetch: send, owner: own }: Connection): Promise<void> {
  let after = { tenant: '', owner: '' };
  for (let isLast = false; !isLast;) {
    const page = await own.listOwners(after);
    for (const scope of page.owners) {
      const headers = { 'Lango-Owner': new URLSearchParams({ ...scope }).toString() };
      const asOwner: typeof fetch = (target, init) =>
        send(target, { ...init, headers: { ...(init?.headers as Record<string, string>), ...headers } });
      const name = scope.tenant === '' ? scope.owner : `${scope.tenant}/${scope.owner}`;
      await addBill(groups, createOwnerClient(SERVER_OPERATIONS, { url, fetch: asOwner }), () => name);
      after = scope;
    }
    isLast = page.isLast || page.owners.length === 0;
  }
  await addBill(groups, own, () => 'you');
}
