import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { duration } from '../../core/duration.js';
import type { Overview, Percentiles, TaskLine } from '../../core/overview.js';
import { PeerState } from './agents.js';
import { newId, owner } from './api.js';
import { Chart, partsOf, seriesOf, UsageCharts } from './chart.js';
import { waitingTasks, type WaitingTask } from './inbox.js';
import { Mark, Nothing } from './icons.js';
import { agentsOf, knownNodes, loadNode, node, nodeOf } from './node.js';
import { Ago, Choice, Failures, link, money, Note, number, short, Table, timeOf, useLoaded } from './page.js';
import { visible } from './parts.js';
import { State, titleOf } from './tasks.js';

const REFRESH_MS = 4_000;
const SPANS = { '24': 'the last 24 hours', '168': 'the last 7 days', '720': 'the last 30 days' };
const MOST_ROWS = 5;

type Loaded = Readonly<{ overview: Overview; waiting: readonly WaitingTask[] }>;

async function load(hours: string): Promise<Loaded> {
  const status = await loadNode();
  const [overview, waiting] = await Promise.all([
    owner<Overview>(`overview?hours=${hours}`),
    waitingTasks(agentsOf(status)),
  ]);
  return { overview, waiting };
}

/** The first page: what works, what waits, what failed, and what it took. */
export function OverviewView() {
  const [hours, setHours] = useState<keyof typeof SPANS>('24');
  const { value, fault } = useLoaded(() => load(hours), [hours], REFRESH_MS);
  return (
    <section class="overview" aria-busy={!value}>
      <div class="head">
        <h2>Overview</h2>
        <Choice label="Of" value={hours} names={SPANS} onChoose={setHours} />
      </div>
      {fault && <Note>{fault}</Note>}
      {value ? <Figures {...value} /> : !fault && <Empty />}
    </section>
  );
}

/** Keeps the room of the figures while they load. */
const Empty = () => (
  <ul class="tiles" aria-label="Loading the figures">
    {['Running', 'Waiting for you', 'Failed', 'Completed', 'Time of a task', 'Money'].map((name) => (
      <Tile key={name} name={name} value="…" />
    ))}
  </ul>
);

function Figures({ overview, waiting }: Loaded) {
  const { running, agents, ended, usage, errors, costliest, isCut } = overview;
  const root = node.value?.root ?? '';
  const figures = agents.find(({ agent }) => agent === root);
  const count = (...states: readonly string[]) =>
    ended.filter(({ state }) => states.includes(state)).reduce((sum, { tasks }) => sum + tasks, 0);
  const failed = count('failed', 'rejected');
  const tokens = usage.reduce((sum, { input, output }) => sum + input + output, 0);
  if (ended.length + running.length + waiting.length === 0) return <Begin />;
  return (
    <>
      <ul class="tiles" aria-label="Figures">
        <Tile name="Running" value={number(running.length)} href={inState('WORKING')} />
        <Tile
          name="Waiting for you"
          value={number(waiting.length)}
          kind={waiting.length > 0 && 'waits'}
          href={link('approvals')}
        />
        <Tile name="Failed" value={number(failed)} kind={failed > 0 && 'failed'} href={inState('FAILED')} />
        <Tile name="Completed" value={number(count('completed'))} href={inState('COMPLETED')} />
        <Tile name="Time of a task" value={timeOf(figures?.time?.p50)} note={slow(figures?.time)} />
        <Tile name="First text" value={timeOf(figures?.firstText?.p50)} note={slow(figures?.firstText)} />
        <Tile name="Tokens" value={short(tokens)} href={link('bill')} />
        <Tile name="Money" value={money(usage) || 'no price'} href={link('bill')} />
      </ul>
      {isCut && <Note>There are more tasks than these figures count: those of the newest ones.</Note>}
      <div class="columns four">
        <Lines title="Waiting for you" none="Nothing waits for you." rows={waiting.map(waitingLine)} />
        <Lines title="Running" none="Nothing runs." rows={running.map(runningLine)} />
        <Lines title="Errors" none="Nothing failed." rows={errors.map(errorLine)} />
        <Lines title="Cost most" none="Nothing cost money." rows={costliest.map(costLine)} />
      </div>
      <Charts overview={overview} />
      <Agents overview={overview} />
      <Others />
    </>
  );
}

function Begin() {
  const { root = '' } = node.value ?? {};
  return (
    <>
      <Nothing icon="overview">
        <p>There are no tasks of this time yet.</p>
        <p>
          <a class="button primary" href={link('chat', root, newId())}>
            Ask {root}
          </a>{' '}
          or send a message with <code>npx lango send "hello"</code>.
        </p>
      </Nothing>
      <Others />
    </>
  );
}

interface TileProps {
  readonly name: string;
  readonly value: string;
  readonly note?: string | undefined;
  readonly kind?: string | false; // How it looks.
  readonly href?: string;
}

function Tile({ name, value, note, kind = false, href }: TileProps) {
  const content = (
    <>
      <span>{name}</span>
      <b class={kind || ''}>{value}</b>
      <small>{note}</small>
    </>
  );
  return <li>{href === undefined ? <div>{content}</div> : <a href={href}>{content}</a>}</li>;
}

const inState = (state: string) => `${link('tasks')}?state=${state}`;
const slow = (time: Percentiles | undefined) => time && `p95 ${duration(time.p95)}`;

type LinesProps = Readonly<{ title: string; none: string; rows: readonly ComponentChildren[] }>;

function Lines({ title, none, rows }: LinesProps) {
  return (
    <section class="panel">
      <h3>
        {title} {rows.length > 0 && <small>{number(rows.length)}</small>}
      </h3>
      {rows.length === 0 ? <p class="note">{none}</p> : <ul>{rows.slice(0, MOST_ROWS)}</ul>}
    </section>
  );
}

type LineProps = Pick<TaskLine, 'agent' | 'id' | 'title'> & { readonly children: ComponentChildren };

const Line = ({ agent, id, title, children }: LineProps) => (
  <li>
    <a class="title" dir="auto" href={link('tasks', agent, id)}>
      {visible(title)}
    </a>
    <span class="facts">{children}</span>
  </li>
);

const isoOf = (time: number) => new Date(time).toISOString();

const waitingLine = ({ agent, task }: WaitingTask) => (
  <Line key={task.id} agent={agent} id={task.id} title={titleOf(task)}>
    <State state={task.status.state} /> · {agent} · <Ago at={task.status.timestamp} />
  </Line>
);

const runningLine = ({ id, agent, title, state, createdAt }: TaskLine) => (
  <Line key={id} {...{ id, agent, title }}>
    <State state={state} /> · {agent} · for {duration(Math.max(0, Date.now() - createdAt))}
  </Line>
);

const errorLine = ({ agent, reason, text, tasks, newest }: Overview['errors'][number]) => (
  <Line key={`${agent} ${reason}`} agent={agent} id={newest.id} title={newest.title}>
    <State state="failed" /> {tasks > 1 && `${number(tasks)} × `}
    {visible(reason)} · {agent} · <Ago at={isoOf(newest.statusAt)} /> · took{' '}
    {duration(newest.statusAt - newest.createdAt)}
    {text !== '' && <span class="text reason">{visible(text)}</span>}
  </Line>
);

const costLine = ({ id, agent, title, state, statusAt, ...cost }: Overview['costliest'][number]) => (
  <Line key={`${id} ${cost.currency}`} {...{ id, agent, title }}>
    <b>{money([cost])}</b> · <State state={state} /> · <Ago at={isoOf(statusAt)} />
  </Line>
);

const STATES = ['completed', 'failed', 'rejected', 'canceled'];
const COLORS: Readonly<Record<string, string>> = { completed: '--good', failed: '--bad', rejected: '--bad' };

function Charts({ overview: { from, partMs, ended, usage } }: Readonly<{ overview: Overview }>) {
  const [by, setBy] = useState<'model' | 'agent'>('model');
  const times = partsOf(from, partMs);
  const counts = ended.map(({ at, state, tasks }) => ({ at, name: state, value: tasks }));
  const byState = seriesOf(counts, times)
    .map((one) => ({ ...one, color: COLORS[one.name] ?? '--idle' }))
    .sort((a, b) => STATES.indexOf(a.name) - STATES.indexOf(b.name));

  return (
    <>
      <div class="head">
        <h3>Over time</h3>
        <Choice label="Tokens and money by" value={by} names={['model', 'agent']} onChoose={setBy} />
      </div>
      <div class="columns">
        <Chart label="Ended tasks" format={short} {...{ times, partMs, series: byState }} />
        <UsageCharts rows={usage.map((row) => ({ ...row, name: row[by] }))} {...{ times, partMs }} />
      </div>
    </>
  );
}

function Agents({ overview: { agents } }: Readonly<{ overview: Overview }>) {
  const worked = agents.filter(({ tasks }) => tasks > 0).toSorted((a, b) => b.tasks - a.tasks);
  return (
    <Table
      caption="Agents of this server, with what others delegated to them"
      heads={['Agent', 'Tasks', 'Failed', 'Time p50', 'Time p95', 'First text p50', 'First text p95']}
      rows={worked.map(({ agent, tasks, failed, time, firstText }) => [
        ...[agent, number(tasks), <Failures count={failed} />],
        ...[time?.p50, time?.p95, firstText?.p50, firstText?.p95].map(timeOf),
      ])}
    />
  );
}

function Others() {
  const status = node.value;
  const remote = status?.peers.filter(({ kind }) => kind === 'remote') ?? [];
  const nodes = knownNodes.value;
  if (!status || nodes.length === 0) return null;
  return (
    <section class="panel">
      <h3>Nodes and remote agents</h3>
      <ul>
        <li>
          <a href={link('map')}>{visible(nodes[0]!.name)}</a>{' '}
          <span class="facts">
            <Mark icon="completed" kind="completed">
              this node
            </Mark>{' '}
            · {number(agentsOf(status).length)} agents
          </span>
        </li>
        {remote.map(({ name, state, reason = '', since }) => (
          <li key={name}>
            <a href={link('agents')}>{visible(name)}</a>{' '}
            <span class="facts">
              <PeerState state={state} /> · on {visible(nodeOf(name))} · <Ago at={since} /> {visible(reason)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
