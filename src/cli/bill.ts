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
  const lines = json.map((group) => {
    const money = `${group.cost.toFixed(4)} ${group.currency}${group.unpriced ? ' and calls without a price' : ''}`;
    return safeLine(`${group.name}  ${group.input} in, ${group.output} out  ${money}`);
  });
  return { json: { by: flags.by, bill: json }, lines: lines.length > 0 ? lines : ['No model was used yet.'] };
}
