import type { ResultOf } from '../core/operation.js';
import type { ServerOperations } from '../owners/operations.js';
import { connect, type Call } from './connection.js';
import { ask } from './explain.js';
import { safeLine } from '../terminal/safe-text.js';
import { locateTask, type TaskFlags } from './tasks.js';
import type { Report, Terminal } from '../terminal/terminal.js';

type Trace = ResultOf<ServerOperations['readTrace']>;
type Span = Trace['spans'][number];

/** `lango tasks trace`: what a task and the tasks below it did, as a tree with times, tokens, money and errors. */
export async function traceTask(given: string, call: Call<TaskFlags>): Promise<Report> {
  const connection = await connect(call);
  const { id: taskId } = await locateTask(connection, given, call.flags.agent);
  const trace = await ask(connection, connection.owner.readTrace({ taskId }));
  const { spans, isCut } = trace;
  const notes = isCut ? [`Only the first ${spans.length} spans are shown.`] : [];
  return { json: { ...trace }, lines: linesOf(spans, call.terminal), notes };
}

function linesOf(spans: readonly Span[], terminal: Terminal): readonly string[] {
  const below = Map.groupBy(spans, ({ parent }) => parent);
  const rows = (parent: string | undefined, depth: number): readonly string[] =>
    (below.get(parent) ?? []).flatMap((span) => [
      `${'  '.repeat(depth)}${rowOf(span, below, terminal)}`,
      ...rows(span.id, depth + 1),
    ]);
  return rows(undefined, 0);
}

function rowOf(
  { id, kind, name, startedAt, endedAt, attributes }: Span,
  below: ReadonlyMap<string | undefined, readonly Span[]>,
  { paint }: Terminal,
): string {
  const said = (key: string): string | undefined => {
    const value = attributes[key];
    return value === undefined ? undefined : safeLine(String(value));
  };
  const input = said('gen_ai.usage.input_tokens');
  const child = said('lango.child.task');
  const error = said('error.type');
  const facts = [
    endedAt === undefined ? 'not ended' : `${((endedAt - startedAt) / 1_000).toFixed(3)} s`,
    input !== undefined && `${input} in, ${said('gen_ai.usage.output_tokens')} out`,
    attributes['lango.cost'] !== undefined && `${said('lango.cost')} ${said('lango.currency')}`,
    said('lango.nodes') !== undefined && `node ${said('lango.nodes')}`,
    kind === 'server' && `task ${said('lango.task')}`,
    child !== undefined && !below.has(id) && `task ${child} on another node`,
  ].filter((fact) => fact !== false);
  const failed = error === undefined ? '' : `  ${paint.red(`✘ ${error}`)}`;
  return `${paint.bold(safeLine(name))}  ${paint.dim(facts.join(' · '))}${failed}`;
}
