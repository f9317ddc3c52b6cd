import { CAPABILITIES } from '../../src/capabilities/index.js';
import { createTable, PLAN, TRANSFER } from '../../src/models/offline/request.js';

/** The sentences of the shipped capabilities. */
export const OFFLINE_SENTENCES = CAPABILITIES.flatMap(({ sentences = [] }) => sentences);

/** A sentence of the offline model's table with values in it, and the call that it leads to. */
export interface OfflineRow {
  readonly sentence: string;
  readonly tool: string;
  readonly arguments: object;
}

/** Every row that calls a tool. */
export const OFFLINE_ROWS: readonly OfflineRow[] = createTable(OFFLINE_SENTENCES)
  .rows.filter(([, tool]) => tool !== PLAN && tool !== TRANSFER && tool !== '{tool}')
  .map(([template, tool, others = {}]) => ({
    sentence: fill(template, (name, dots) => (dots ? `some ${name} words` : `the-${name}`)),
    tool: tool.replace('{name}', 'the_name'),
    arguments: argumentsOf(template, [tool, others], others),
  }));

/** The arguments of the rows for a tool, by name. */
export function argumentsIn(tool: string): readonly string[] {
  return OFFLINE_ROWS.filter((row) => row.tool === tool).flatMap((row) => Object.keys(row.arguments));
}

function fill(template: string, value: (name: string, dots: boolean) => string): string {
  return template.replace(/\{(\w+)(\.\.\.)?\}/g, (_, name: string, dots?: string) =>
    value(name, dots !== undefined),
  );
}

/**
 * The arguments of a row, by the rule of the table: placeholders that nothing else uses, and the row's own arguments.
 */
function argumentsOf(template: string, users: unknown, others: object): object {
  const used = JSON.stringify(users);
  const own = [...template.matchAll(/\{(\w+)(\.\.\.)?\}/g)]
    .filter(([, name]) => !used.includes(`{${name!}}`))
    .map(([, name, dots]) => [name, dots ? `some ${name!} words` : `the-${name!}`]);
  const filled: unknown = JSON.parse(JSON.stringify(others).replace(/\{(\w+)\}/g, 'the-$1'));
  return { ...(Object.fromEntries(own) as object), ...(filled as object) };
}
