import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { duration } from '../../core/duration.js';
import type { CaseChange, CaseResult, EvaluationRun, Evaluations } from '../../core/evaluations.js';
import { owner } from './api.js';
import { Icon, Mark, type IconName } from './icons.js';
import { Ago, Choice, link, money, Note, number, Table, useLoaded } from './page.js';
import { visible } from './parts.js';
import { TaskView } from './task.js';

type Indexed = CaseResult & { readonly index: number };
type Varied = Pick<CaseResult, 'model' | 'instruction'>;

const CHANGES: Readonly<Partial<Record<CaseChange['change'], { icon: IconName; kind?: string }>>> = {
  ...{ better: { icon: 'better', kind: 'completed' }, worse: { icon: 'worse', kind: 'failed' } },
  ...{ unclear: { icon: 'unclear' }, new: { icon: 'added' } },
};
const SHOWN = { all: 'all cases', failed: 'cases that failed', changed: 'cases that changed' };

const fileName = (path: string) => path.split(/[/\\]/).at(-1)!;
const variantOf = ({ model, instruction }: Varied) => JSON.stringify([model, instruction]);
const caseOf = ({ file, name }: Pick<CaseResult, 'file' | 'name'>) => JSON.stringify([file, name]);
const wordsOf = ({ model = 'the configured model', instruction }: Varied) =>
  visible([model, ...(instruction === undefined ? [] : [fileName(instruction)])].join(' · '));

async function load(name: string, before: string) {
  const path = `evaluations/${encodeURIComponent(name)}`;
  const [run, { runs }] = await Promise.all([
    owner<EvaluationRun>(before === '' ? path : `${path}?before=${encodeURIComponent(before)}`),
    owner<Evaluations>('evaluations'),
  ]);
  const files = new Set(run.results.map(({ file }) => file));
  const others = runs.filter((one) => one.name !== name && one.files.some(({ file }) => files.has(file)));
  return { run, others: others.map((one) => one.name) };
}

/** A run: its cases by what they compare, and what changed since another run. */
export function RunView({ name }: Readonly<{ name: string }>) {
  const [before, setBefore] = useState('');
  const [shown, setShown] = useState<keyof typeof SHOWN>('all');
  const { value, fault } = useLoaded(() => load(name, before), [before]);
  if (!value) return <Note>{fault || 'Loading the run…'}</Note>;
  const { run, others } = value;
  const gone = run.changes.filter(({ change }) => change === 'gone');
  return (
    <section>
      <div class="head">
        <h2>Run {visible(name)}</h2>
        <a href={link('evaluations')}>All runs</a>
      </div>
      <p class="facts">
        Ended <Ago at={new Date(run.at).toISOString()} />. Each <Icon name="completed" /> or{' '}
        <Icon name="failed" /> is one task: open it to see what it did.
      </p>
      <div class="filters">
        {others.length > 0 && (
          <Choice
            label="Compared with"
            value={run.before ?? ''}
            names={others}
            none={run.before === undefined ? 'no run' : undefined}
            wordsOf={visible}
            onChoose={setBefore}
          />
        )}
        <Choice label="Show" value={shown} names={SHOWN} onChoose={setShown} />
      </div>
      {fault && <Note>{fault}</Note>}
      <Matrix run={run} shown={shown} />
      {gone.length > 0 && (
        <p class="facts">
          No longer there: {gone.map((one) => `${visible(one.name)} (${wordsOf(one)})`).join(', ')}
        </p>
      )}
    </section>
  );
}

function Matrix({ run, shown }: Readonly<{ run: EvaluationRun; shown: string }>) {
  const results = run.results.map((result, index): Indexed => ({ ...result, index }));
  const variants = new Map(results.map((result) => [variantOf(result), wordsOf(result)]));
  const changes = new Map(run.changes.map((change) => [caseOf(change) + variantOf(change), change]));
  const changeOf = (one: CaseResult) => changes.get(caseOf(one) + variantOf(one));
  const isShown = (some: readonly Indexed[]) =>
    shown === 'all' || some.some((one) => (shown === 'failed' ? !one.passed : hasChanged(changeOf(one))));
  const rows = [...Map.groupBy(results, caseOf)].filter(([, some]) => isShown(some));
  const isOfFiles = new Set(results.map(({ file }) => file)).size > 1;
  if (rows.length === 0)
    return <Note>No case is like that. Choose “{SHOWN.all}” above to see them all.</Note>;
  const heads = ['Case', ...variants.values()];
  const cellsFor = (some: readonly Indexed[], cellOf: (cell: readonly Indexed[]) => ComponentChildren) => {
    const cells = Map.groupBy(some, variantOf);
    return [...variants.keys()].map((variant) => cells.has(variant) && cellOf(cells.get(variant)!));
  };
  return (
    <Table
      caption="Cases by what they compare"
      heads={heads}
      texts={[...heads.keys()]}
      rows={rows.map(([, some]) => [
        <>
          <span class="text">{visible(some[0]!.name)}</span>
          {isOfFiles && <small> {visible(fileName(some[0]!.file))}</small>}
        </>,
        ...cellsFor(some, (cell) => <Cell run={run} results={cell} change={changeOf(cell[0]!)} />),
      ])}
      foot={[
        'in all',
        ...cellsFor(results, (cell) => (
          <div class="cell">
            <Sums results={cell} currency={run.currency} />
          </div>
        )),
      ]}
    />
  );
}

const hasChanged = (change: CaseChange | undefined) =>
  change !== undefined && (change.change !== 'same' || Object.keys(change.figures).length > 0);

interface CellProps {
  readonly run: EvaluationRun;
  readonly results: readonly Indexed[];
  readonly change: CaseChange | undefined;
}

/** The repeats of a case, each as a link to its task, and what they took. */
function Cell({ run: { name, currency }, results, change }: CellProps) {
  return (
    <div class="cell">
      {results.map(({ index, passed, repeat, failures }) => (
        <a
          key={index}
          class={passed ? 'mark' : 'mark failed'}
          href={link('evaluations', name, String(index))}
          title={failures.map(visible).join('\n')}
          aria-label={`${repeat === undefined ? '' : `Repeat ${repeat} `}${passed ? 'passed' : 'failed'}`}
        >
          <Icon name={passed ? 'completed' : 'failed'} />
        </a>
      ))}
      <Sums results={results} currency={currency} />
      {change && hasChanged(change) && <Change change={change} />}
    </div>
  );
}

function Sums({ results, currency }: Readonly<{ results: readonly CaseResult[]; currency: string }>) {
  const passed = results.filter((one) => one.passed).length;
  const known = results.filter(({ tokens }) => tokens !== undefined);
  const mean = (of: (one: CaseResult) => number) =>
    known.reduce((sum, one) => sum + of(one), 0) / known.length;
  const isPriced = known.every(({ cost }) => cost !== undefined);
  const words = [
    results.length > 1 && `${number(passed)} of ${number(results.length)}`,
    known.length > 0 && (isPriced ? money([{ cost: mean(({ cost = 0 }) => cost), currency }]) : 'no price'),
    known.length > 0 && duration(1_000 * mean(({ seconds = 0 }) => seconds)),
  ];
  return <span class="facts">{words.filter(Boolean).join(' · ')}</span>;
}

function Change({ change: { change, before, figures } }: Readonly<{ change: CaseChange }>) {
  const look = CHANGES[change];
  const words = Object.entries(figures).map(
    ([figure, { before: was, now }]) => `${figure} ${now.mean > was.mean ? 'more' : 'less'}`,
  );
  return (
    <span class="facts">
      {look && <Mark {...look}>{change}</Mark>}
      {before && change !== 'same' && `, was ${before[0]} of ${before[1]}`}
      {words.length > 0 && `${look ? ', ' : ''}${words.join(', ')}`}
    </span>
  );
}

/** The task of a result, below what it did not meet. The task becomes one of this server, as `lango tasks import` does it. */
export function EvaluatedTask({ run, index }: Readonly<{ run: string; index: number }>) {
  const path = `evaluations/${encodeURIComponent(run)}`;
  const { value, fault } = useLoaded(async () => (await owner<EvaluationRun>(path)).results[index], []);
  const load = () => owner<{ taskId: string; agent: string }>(`${path}/tasks`, 'POST', { result: index });
  const imported = useLoaded(load, []);
  if (!value) return <Note>{fault || 'Loading the result…'}</Note>;
  const { name, passed, failures, repeat } = value;
  return (
    <>
      <section class="panel" aria-label="Result">
        <h3>
          <Mark icon={passed ? 'completed' : 'failed'} kind={passed ? 'completed' : 'failed'}>
            {passed ? 'passed' : 'failed'}
          </Mark>{' '}
          {visible(name)}
        </h3>
        <p class="facts">
          <a href={link('evaluations', run)}>Run {visible(run)}</a> · {wordsOf(value)}
          {repeat !== undefined && ` · repeat ${repeat}`}
        </p>
        {failures.length > 0 && (
          <ul aria-label="What does not hold">
            {failures.map((failure) => (
              <li key={failure} class="text">
                {visible(failure)}
              </li>
            ))}
          </ul>
        )}
      </section>
      {imported.value ? (
        <TaskView agent={imported.value.agent} id={imported.value.taskId} />
      ) : (
        <Note>{imported.fault || 'Loading its task…'}</Note>
      )}
    </>
  );
}
