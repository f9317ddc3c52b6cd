import { addUsage, NO_USAGE, type Usage } from '../core/model.js';
import { pagesOf } from '../owners/client.js';
import { withOwner, type OwnerFlags } from './owner-client.js';
import { safeLine } from './safe-text.js';
import type { Call, Report } from './terminal.js';

interface BillFlags extends OwnerFlags {
  readonly by: 'agent' | 'model' | 'day' | 'node';
}

/** `lango bill`: tokens and money by agent, model, day or node. */
export async function bill({ flags, env }: Call<BillFlags>): Promise<Report> {
  const groups = new Map<string, { name: string; currency: string; usage: Usage }>();
  await withOwner({ flags, env }, async (owner) => {
    for await (const { rows } of pagesOf((after) => owner.readBill({ after }))) {
      for (const { day, ...row } of rows) {
        const name = flags.by === 'day' ? day : row[flags.by];
        const key = JSON.stringify([name, row.currency]);
        const known = groups.get(key)?.usage ?? NO_USAGE;
        groups.set(key, { name, currency: row.currency, usage: addUsage(known, { ...row, rows: [row] }) });
      }
    }
  });
  const json = [...groups.values()].map(({ name, currency, usage: { rows = [], ...tokens } }) => ({
    name,
    currency,
    ...tokens,
    cost: rows.reduce((sum, { cost = 0 }) => Math.round((sum + cost) * 1e9) / 1e9, 0),
    unpriced: rows.some(({ cost }) => cost === undefined),
  }));
  json.sort((a, b) => a.name.localeCompare(b.name));
  const names = json.map(({ name }) => safeLine(name));
  const width = Math.max(...names.map(({ length }) => length), 0);
  const lines = json.map(({ input, output, cost, currency, unpriced }, index) => {
    const money = `${cost.toFixed(4)} ${safeLine(currency)}${unpriced ? ' and calls without a price' : ''}`;
    const tokens = `${input.toLocaleString('en-US')} in, ${output.toLocaleString('en-US')} out`;
    return `${names[index]!.padEnd(width)}  ${tokens}  ${money}`;
  });
  return { json: { by: flags.by, bill: json }, lines: lines.length > 0 ? lines : ['No model was used yet.'] };
}
