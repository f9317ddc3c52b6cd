import { useState } from 'preact/hooks';
import type { UsageRow } from '../../core/model.js';
import { owner, readOf, viewed, type Owner } from './api.js';
import { partsOf, UsageCharts } from './chart.js';
import { Icon, Nothing } from './icons.js';
import { node, nodeName } from './node.js';
import { otherOwners, wordsOf } from './owners.js';
import { Button, Choice, link, money, Note, number, saveFile, Table, useLoaded } from './page.js';

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

const tokens = (rows: readonly BillRow[]) => rows.reduce((sum, row) => sum + row.input + row.output, 0);
const nameIn = (row: BillRow, by: Group) => (by === 'node' ? nodeName(row.node) : (row[by] ?? ''));

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? 1 : -1);

const capital = ([first = '', ...rest]: string) => first.toUpperCase() + rest.join('');

const DAY_MS = 24 * 60 * 60 * 1_000;
const MOST_DAYS = 60;

/** Tokens and money of the last days, each in its bars, with the limit of a day. */
function Charts({ rows, by }: Readonly<{ rows: readonly BillRow[]; by: Group }>) {
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const first = Math.min(today, ...rows.map((row) => Date.parse(row.day)));
  const from = Math.max(first, today - (MOST_DAYS - 1) * DAY_MS);
  const times = partsOf(from, DAY_MS);
  const dated = rows.map((row) => ({ ...row, at: Date.parse(row.day), name: nameIn(row, by) }));
  return (
    <div class="columns">
      <UsageCharts
        {...{ rows: dated, times, partMs: DAY_MS, by: ` by ${by}`, limit: node.value?.dailyCost }}
      />
    </div>
  );
}

const COLUMNS = [
  'day',
  'owner',
  'node',
  'agent',
  'model',
  'input',
  'output',
  'cached',
  'written',
  'cost',
  'currency',
  'nodeId',
] as const;

function csvOf(rows: readonly BillRow[]): string {
  const named = rows.map((row) => ({ ...row, node: nodeName(row.node), nodeId: row.node }));
  const lines = named.map((row) => COLUMNS.map((name) => cellOf(row[name] ?? '')).join(','));
  return `${[COLUMNS.join(','), ...lines].join('\r\n')}\r\n`;
}

/** A text that a program of tables would take for a formula gets a quote before it: others choose the names of agents. */
function cellOf(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function BillView() {
  const [group, setGroup] = useState<Group>('day');
  const [day, setDay] = useState('');
  const ofAll = group === 'owner';
  const { value: others = [] } = useLoaded(otherOwners, []);
  const offered = GROUPS.filter((name) => name !== 'owner' || (others.length > 0 && !viewed.value));
  const { value, fault, reload } = useLoaded(() => (ofAll ? readBills() : readBill()), [ofAll]);
  if (!value) return <Note>{fault || 'Adding up the bill…'}</Note>;
  const days = [...new Set(value.map((row) => row.day))].sort().toReversed();
  const rows = day === '' ? value : value.filter((row) => row.day === day);
  const groups = [...Map.groupBy(rows, (row) => nameIn(row, group))].sort(
    group === 'day' ? byName : (a, b) => tokens(b[1]) - tokens(a[1]) || byName(a, b),
  );
  const most = Math.max(1, ...groups.map(([, rows]) => tokens(rows)));
  const showDay = (name: string) => {
    setDay(name);
    setGroup('agent');
  };
  return (
    <section>
      <h2>Bill</h2>
      <div class="filters">
        <Choice label="By" value={group} names={offered} onChoose={setGroup} />
        <Choice label="Of" value={day} names={days} none="all days" onChoose={setDay} />
        <Button onClick={reload}>
          <Icon name="again" /> Read again
        </Button>
        <Button
          onClick={() => saveFile('lango-bill.csv', 'text/csv', csvOf(rows))}
          disabled={rows.length === 0}
        >
          <Icon name="save" /> Export CSV
        </Button>
      </div>
      {fault && <Note>{fault}</Note>}
      {groups.length === 0 && (
        <Nothing icon="bill">
          <p>Your tasks have cost nothing yet. What they use is shown here once they end.</p>
          <a class="button primary" href={link('chat')}>
            Ask an agent
          </a>
        </Nothing>
      )}
      {days.length > 0 && <Charts rows={value} by={group === 'day' ? 'model' : group} />}
      {groups.length > 0 && (
        <Table
          caption={`What ${ofAll ? 'the tasks of all owners' : 'your tasks'} cost, with all that they delegated`}
          heads={[capital(group), 'Tokens', 'In', 'Out', 'Money']}
          texts={[0, 1]}
          rows={groups.map(([name, rows]) => [
            group === 'day' ? (
              <Button class="link" onClick={() => showDay(name)}>
                {name}
              </Button>
            ) : (
              name
            ),
            <meter max={most} value={tokens(rows)} aria-label={`Tokens of ${name}`} />,
            ...sumsOf(rows),
          ])}
          foot={['in all', undefined, ...sumsOf(rows)]}
        />
      )}
      <Unpriced rows={value} />
    </section>
  );
}

function Unpriced({ rows }: Readonly<{ rows: readonly BillRow[] }>) {
  const models = new Set(rows.filter(({ cost }) => cost === undefined).map(({ model }) => model));
  if (models.size === 0) return null;
  return (
    <p>
      These models have no price: {[...models].join(', ')}. Name one under <code>prices</code> in the
      configuration.
    </p>
  );
}

const sumsOf = (rows: readonly BillRow[]) => [
  number(rows.reduce((sum, { input }) => sum + input, 0)),
  number(rows.reduce((sum, { output }) => sum + output, 0)),
  money(rows) || 'no price',
];
