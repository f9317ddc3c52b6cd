import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { UsageRow } from '../../core/model.js';
import { owner, readOf, viewed, type Owner } from './api.js';
import { nodeName } from './node.js';
import { otherOwners, wordsOf } from './owners.js';
import { Button, Choice, money, Note, number, Table, useLoaded } from './page.js';

interface BillRow extends UsageRow {
  readonly day: string;
  readonly owner?: string; // For a bill of all owners.
}

const GROUPS = ['day', 'agent', 'model', 'node', 'owner'] as const;
type Group = (typeof GROUPS)[number];

async function readBill(of?: Owner): Promise<readonly BillRow[]> {
  const rows: BillRow[] = [];
  for (let path: string | undefined = 'bill'; path !== undefined;) {
    const page: { rows: readonly BillRow[]; next?: string } = await (of ? readOf(of, path) : owner(path));
    rows.push(...page.rows);
    path = page.next && `bill?after=${encodeURIComponent(page.next)}`;
  }
  return rows;
}

async function readBills(): Promise<readonly BillRow[]> {
  const rows = (await readBill()).map((row) => ({ ...row, owner: 'yourself' }));
  for (const other of await otherOwners())
    rows.push(...(await readBill(other)).map((row) => ({ ...row, owner: wordsOf(other) })));
  return rows;
}

export function BillView() {
  const [group, setGroup] = useState<Group>('day');
  const ofAll = group === 'owner';
  const { value: others = [] } = useLoaded(otherOwners, []);
  const offered = GROUPS.filter((name) => name !== 'owner' || (others.length > 0 && !viewed.value));
  const { value, fault, reload } = useLoaded(() => (ofAll ? readBills() : readBill()), [ofAll]);
  if (!value) return <Note>{fault || 'Adding up the bill…'}</Note>;
  const groups = [
    ...Map.groupBy(value, (row) => (group === 'node' ? nodeName(row.node) : (row[group] ?? ''))),
  ].sort(([a], [b]) => (a < b ? 1 : -1));
  const tokens = (rows: readonly BillRow[]) => rows.reduce((sum, row) => sum + row.input + row.output, 0);
  const most = Math.max(1, ...groups.map(([, rows]) => tokens(rows)));
  const unpriced = [...new Set(value.filter(({ cost }) => cost === undefined).map(({ model }) => model))];
  return (
    <section>
      <h2>Bill</h2>
      <div class="filters">
        <Choice label="By" value={group} names={offered} onChoose={(name) => setGroup(name as Group)} />
        <Button onClick={reload}>Read again</Button>
      </div>
      {fault && <Note>{fault}</Note>}
      {groups.length === 0 && <Note>Your tasks have cost nothing yet.</Note>}
      {groups.length > 0 && (
        <Table
          caption={`What ${ofAll ? 'the tasks of all owners' : 'your tasks'} cost, with all that they delegated`}
          heads={[group, 'Tokens', 'In', 'Out', 'Money']}
        >
          <tbody>
            {groups.map(([name, rows]) => (
              <Sums key={name} name={name} rows={rows}>
                <meter max={most} value={tokens(rows)} aria-label={`Tokens of ${name}`} />
              </Sums>
            ))}
          </tbody>
          <tfoot>
            <Sums name="in all" rows={value} />
          </tfoot>
        </Table>
      )}
      {unpriced.length > 0 && (
        <p>
          These models have no price: {unpriced.join(', ')}. Name one under <code>prices</code> in the
          configuration.
        </p>
      )}
    </section>
  );
}

function Sums({
  name,
  rows,
  children,
}: Readonly<{ name: string; rows: readonly BillRow[]; children?: ComponentChildren }>) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{children}</td>
      <td class="number">{number(rows.reduce((sum, { input }) => sum + input, 0))}</td>
      <td class="number">{number(rows.reduce((sum, { output }) => sum + output, 0))}</td>
      <td class="number">{money(rows) || 'no price'}</td>
    </tr>
  );
}
