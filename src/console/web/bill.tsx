import { useState } from 'preact/hooks';
import { owner } from './api.js';
import { money, Note, number, Table, useLoaded } from './page.js';
import type { UsageRow } from './wire.js';

interface BillRow extends UsageRow {
  readonly day: string;
}

const GROUPS = ['day', 'agent', 'model', 'node'] as const;
type Group = (typeof GROUPS)[number];

async function readBill(): Promise<readonly BillRow[]> {
  const rows: BillRow[] = [];
  for (let after: string | undefined = ''; after !== undefined;) {
    const path: string = after === '' ? 'bill' : `bill?after=${encodeURIComponent(after)}`;
    const page: { rows: readonly BillRow[]; next?: string } = await owner(path);
    rows.push(...page.rows);
    after = page.next;
  }
  return rows;
}

export function BillView() {
  const [group, setGroup] = useState<Group>('day');
  const { value, fault, reload } = useLoaded(readBill, []);
  if (!value) return <Note>{fault || 'Adding up the bill…'}</Note>;
  const groups = [...Map.groupBy(value, (row) => row[group])].sort(([a], [b]) => (a < b ? 1 : -1));
  const tokens = (rows: readonly BillRow[]) => rows.reduce((sum, row) => sum + row.input + row.output, 0);
  const most = Math.max(1, ...groups.map(([, rows]) => tokens(rows)));
  const unpriced = [...new Set(value.filter(({ cost }) => cost === undefined).map(({ model }) => model))];
  return (
    <section>
      <h2>Bill</h2>
      <div class="filters">
        <label>
          By{' '}
          <select value={group} onChange={({ currentTarget }) => setGroup(currentTarget.value as Group)}>
            {GROUPS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <button type="button" onClick={reload}>
          Read again
        </button>
      </div>
      {fault && <Note>{fault}</Note>}
      {groups.length === 0 && <Note>Your tasks have cost nothing yet.</Note>}
      {groups.length > 0 && (
        <Table
          caption="What your tasks cost, with all that they delegated"
          heads={[group, 'Tokens', 'In', 'Out', 'Money']}
        >
          <tbody>
            {groups.map(([name, rows]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>
                  <meter max={most} value={tokens(rows)} aria-label={`Tokens of ${name}`} />
                </td>
                <td class="number">{number(rows.reduce((sum, { input }) => sum + input, 0))}</td>
                <td class="number">{number(rows.reduce((sum, { output }) => sum + output, 0))}</td>
                <td class="number">{money(rows) || 'no price'}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">in all</th>
              <td />
              <td class="number">{number(value.reduce((sum, { input }) => sum + input, 0))}</td>
              <td class="number">{number(value.reduce((sum, { output }) => sum + output, 0))}</td>
              <td class="number">{money(value) || 'no price'}</td>
            </tr>
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
