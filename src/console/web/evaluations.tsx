import { useState } from 'preact/hooks';
import type { Evaluations, RunLine } from '../../core/evaluations.js';
import { owner } from './api.js';
import { EvaluatedTask, RunView } from './evaluation-run.js';
import { Icon, Nothing } from './icons.js';
import { Ago, Choice, counted, link, money, names, Note, number, Table, timeOf, useLoaded } from './page.js';
import { visible } from './parts.js';

const REFRESH_MS = 5_000;
/** The runs that a trend shows. */
const MOST_BARS = 30;

/** The live runs of `lango eval`: all of them, one of them, or the task of a result. */
export function EvaluationsView() {
  const [, run, result] = names();
  if (run === undefined) return <Runs />;
  if (result === undefined) return <RunView key={run} name={run} />;
  return <EvaluatedTask key={`${run} ${result}`} run={run} index={Number(result)} />;
}

/** The figures of a run for the files of cases that are shown. */
interface Figures {
  readonly run: RunLine;
  readonly cases: number;
  readonly results: number;
  readonly passed: number;
  /** Undefined when no task is known. */
  readonly seconds: number | undefined;
  /** Undefined when a task has no price. */
  readonly cost: number | undefined;
}

function figuresOf(run: RunLine, file: string): Figures {
  const files = run.files.filter((one) => file === '' || one.file === file);
  const sum = (name: 'cases' | 'results' | 'passed' | 'tasks' | 'seconds') =>
    files.reduce((all, one) => all + one[name], 0);
  const tasks = sum('tasks');
  return {
    ...{ run, cases: sum('cases'), results: sum('results'), passed: sum('passed') },
    seconds: tasks > 0 ? sum('seconds') / tasks : undefined,
    cost: files.some(({ cost }) => cost === undefined)
      ? undefined
      : files.reduce((all, { cost = 0 }) => all + cost, 0),
  };
}

export const share = (passed: number, all: number): string =>
  `${Math.floor((100 * passed) / Math.max(1, all))} %`;

function Runs() {
  const [file, setFile] = useState('');
  const { value, fault } = useLoaded(() => owner<Evaluations>('evaluations'), [], REFRESH_MS);
  if (!value) return <Note>{fault || 'Loading the runs…'}</Note>;
  const { runs, nights, currency } = value;
  const files = [...new Set(runs.flatMap((run) => run.files.map((one) => one.file)))];
  const shown = runs.filter((run) => file === '' || run.files.some((one) => one.file === file));
  const all = shown.map((run) => figuresOf(run, file));
  return (
    <section>
      <div class="head">
        <h2>Evaluations</h2>
        {files.length > 1 && (
          <Choice
            label="Cases of"
            value={file}
            names={files}
            none="all files"
            wordsOf={visible}
            onChoose={setFile}
          />
        )}
      </div>
      {fault && <Note>{fault}</Note>}
      {runs.length === 0 && (
        <Nothing icon="evaluations">
          <p>There is no run yet.</p>
          <p>
            Make a case of a task with <code>npx lango eval new TASK</code>, and run it where the server runs:{' '}
            <code>npx lango eval PATH --live</code>
          </p>
        </Nothing>
      )}
      {all.length > 1 && <Trends all={all.slice(0, MOST_BARS).toReversed()} currency={currency} />}
      {all.length > 0 && <RunTable all={all} currency={currency} />}
      {nights.length > 0 && <Nights nights={nights} />}
    </section>
  );
}

const costWords = (cost: number | undefined, currency: string) =>
  cost === undefined ? 'no price' : money([{ cost, currency }]);

function RunTable({ all, currency }: Readonly<{ all: readonly Figures[]; currency: string }>) {
  return (
    <Table
      caption="Live runs in the data folder of this server, the newest first"
      heads={['Run', 'When', 'Cases', 'Passed', 'Money', 'Task time']}
      rows={all.map(({ run: { name, at }, cases, results, passed, cost, seconds }) => [
        <a href={link('evaluations', name)}>{visible(name)}</a>,
        <Ago at={new Date(at).toISOString()} />,
        number(cases),
        <span class={passed < results ? 'wide failed' : 'wide'}>
          <Icon name={passed < results ? 'failed' : 'completed'} /> {number(passed)} of {number(results)} ·{' '}
          {share(passed, results)}
        </span>,
        costWords(cost, currency),
        timeOf(seconds && seconds * 1_000),
      ])}
    />
  );
}

type TrendsProps = Readonly<{ all: readonly Figures[]; currency: string }>;

/** The figures over runs, from the oldest to the newest. */
function Trends({ all, currency }: TrendsProps) {
  const costs = all.some(({ cost = 0 }) => cost > 0);
  return (
    <div class="columns">
      <Trend
        label="Passed"
        all={all}
        most={1}
        valueOf={({ passed, results }) => passed / Math.max(1, results)}
        wordsOf={({ passed, results }) => share(passed, results)}
      />
      {costs && (
        <Trend
          label="Money"
          all={all}
          valueOf={({ cost = 0 }) => cost}
          wordsOf={({ cost }) => costWords(cost, currency)}
        />
      )}
      <Trend
        label="Time of a task"
        all={all}
        valueOf={({ seconds = 0 }) => seconds}
        wordsOf={({ seconds }) => timeOf(seconds && seconds * 1_000)}
      />
    </div>
  );
}

interface TrendProps {
  readonly label: string;
  readonly all: readonly Figures[];
  /** The value of a whole bar. Default: the highest one. */
  readonly most?: number;
  readonly valueOf: (one: Figures) => number;
  readonly wordsOf: (one: Figures) => string;
}

function Trend({ label, all, most, valueOf, wordsOf }: TrendProps) {
  const whole = most ?? Math.max(...all.map(valueOf));
  return (
    <figure class="chart">
      <figcaption>
        {label} <small>{wordsOf(all.at(-1)!)} in the newest run</small>
      </figcaption>
      <ul class="trend" aria-label={`${label} over runs`}>
        {all.map((one) => {
          const words = `${visible(one.run.name)}: ${wordsOf(one)}`;
          return (
            <li key={one.run.name}>
              <a href={link('evaluations', one.run.name)} title={words} aria-label={words}>
                <i style={{ height: `${whole > 0 ? (100 * valueOf(one)) / whole : 0}%` }} />
              </a>
            </li>
          );
        })}
      </ul>
    </figure>
  );
}

function Nights({ nights }: Pick<Evaluations, 'nights'>) {
  return (
    <Table
      caption="Tasks whose models would be asked something else with the prompts of now, by night"
      heads={['Night', 'Tasks', 'Of them changed', 'Most often']}
      texts={[0, 3]}
      rows={nights.map(({ at, tasks, changedTasks, changes: [first, ...others] }) => [
        new Date(at).toLocaleDateString(undefined, { dateStyle: 'medium', timeZone: 'UTC' }),
        ...[number(tasks), number(changedTasks)],
        first && (
          <span class="wide" title={others.map(({ what, turns }) => `${visible(what)}: ${turns}`).join('\n')}>
            {visible(first.what)} · {counted(first.turns, 'turn')}
          </span>
        ),
      ])}
    />
  );
}
