import { useMemo, useState } from 'preact/hooks';
import { ask, owner } from './api.js';
import { Compare } from './compare.js';
import { leave } from './composer.js';
import { Conversation } from './conversation.js';
import { useFollowed, type Followed } from './follow.js';
import { viewAt, type View } from './fold.js';
import { Icon, Nothing } from './icons.js';
import { Button, dateTime, link, names, Note, place, Rows, TwoClicks, useAction } from './page.js';
import { Copy, Json, Parts, visible } from './parts.js';
import { Requests } from './requests.js';
import { Decisions, Questions } from './questions.js';
import { factsOf, requestOf, State, titleOf } from './tasks.js';
import { Spending, Tree } from './tree.js';
import { Waterfall } from './waterfall.js';
import { activityIn, authorIn, forkIn, hasEnded, seqOf, stateWords } from './wire.js';
import type { Status, StreamEvent, Task } from './wire.js';

const TABS = ['conversation', 'waterfall', 'events', 'tree', 'requests', 'artifacts', 'compare', 'raw'];
const ROW_PIXELS = 32;

/** One task: as a conversation, as a timeline of events, with what it delegated and made, and as it was at any event. */
export function TaskView({ agent, id }: { readonly agent: string; readonly id: string }) {
  const followed = useFollowed(agent, id);
  // The address may name an event, so that a link shows the task as it was.
  const [, event] = /\?event=(\d{1,9})$/.exec(place.value) ?? [];
  const [at, setAt] = useState(event === undefined ? undefined : Number(event));
  const { task, events, count, fault, isAway } = followed;
  const total = count.value;
  const shown = Math.min(at ?? total, total);
  const view = useMemo(
    () => task.value && viewAt(task.value, events, shown),
    [task.value, shown, total === shown],
  );
  if (!task.value || !view) return <Note>{fault.value || (isAway.value ? AWAY : 'Loading the task…')}</Note>;
  const tab = names()[3] ?? 'conversation';
  const move = (value: number) => setAt(value >= total ? undefined : value);
  return (
    <section>
      <Head followed={followed} task={task.value} status={view.status} />
      <div class="scrubber">
        <label>
          <span>
            {at === undefined ? 'As it is now' : 'As it was'}: event {shown} of {total}
            {isAway.value && `. ${AWAY}`}
          </span>
          <input
            type="range"
            min={0}
            max={total}
            value={shown}
            onInput={({ currentTarget }) => move(Number(currentTarget.value))}
            onChange={({ currentTarget }) => {
              const value = Number(currentTarget.value);
              rememberEvent(value >= total ? undefined : value);
            }}
          />
        </label>
        <Fork agent={agent} id={id} at={at === undefined ? undefined : seqAt(events, shown)} />
      </div>
      <nav class="tabs" aria-label="Parts of the task">
        {TABS.map((name) => (
          <a
            key={name}
            href={`${link('tasks', agent, id, name)}${at === undefined ? '' : `?event=${at}`}`}
            aria-current={name === tab ? 'page' : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      <Tab tab={tab} followed={followed} task={task.value} shown={{ view, count: shown, move }} />
      {at === undefined && <Questions agent={agent} task={{ ...task.value, status: view.status }} />}
    </section>
  );
}

/** The number of the journal of the newest event that is shown. The first one is the request. */
function seqAt(events: readonly StreamEvent[], count: number): number {
  return Math.max(1, ...events.slice(Math.max(0, count - 1), count).map(seqOf));
}

/** Goes on from the event that the slider shows, as a new task. */
function Fork({ agent, id, at }: Readonly<{ agent: string; id: string; at: number | undefined }>) {
  const { note, act } = useAction();
  const fork = async () => {
    const place = at === undefined ? {} : { at };
    const made = await owner<{ taskId: string }>(`tasks/${encodeURIComponent(id)}/forks`, 'POST', place);
    location.hash = link('tasks', agent, made.taskId);
  };
  return (
    <div>
      <TwoClicks
        label="Fork here"
        confirm="Really go on from here as a new task"
        onConfirm={() => void act(fork)}
      />
      {note && <Note>{note}</Note>}
    </div>
  );
}

const AWAY = 'The connection is lost. The page continues as soon as the server responds.';

function rememberEvent(at: number | undefined): void {
  const [path] = place.value.split('?');
  history.replaceState(null, '', at === undefined ? path : `${path}?event=${at}`);
}

type HeadProps = Readonly<{ followed: Followed; task: Task; status: Status }>;

function Head({ followed: { agent, id }, task, status }: HeadProps) {
  const { note, act } = useAction();
  const isOver = hasEnded(task.status.state);
  const fork = forkIn(task);
  const cancel = () => ask(agent, 'CancelTask', { id });
  const asked = requestOf(task);
  const edit = async () => {
    if (!isOver) await cancel();
    leave(task.contextId, asked);
    location.hash = link('chat', agent, task.contextId);
  };
  return (
    <>
      <h2 class="title" dir="auto">
        {visible(titleOf(task))}
      </h2>
      <p class="facts">
        <State state={status.state} /> · {agent} ·{' '}
        {[status.timestamp && dateTime(status.timestamp), ...factsOf(task)].filter(Boolean).join(' · ')} · id{' '}
        <code>{id}</code> ·{' '}
        <a class="whole" href={link('chat', agent, task.contextId)}>
          Open its conversation
        </a>
      </p>
      {fork && (
        <p class="facts">
          Forked at event {fork.seq} from <a href={link('tasks', agent, fork.taskId)}>another task</a> ·{' '}
          <a href={link('tasks', agent, id, 'compare')}>Compare with the task it was forked from</a>
        </p>
      )}
      <p class="buttons">
        {asked !== '' && (
          <Button onClick={() => void act(edit)}>
            <Icon name="edit" /> {isOver ? 'Edit and send again' : 'Stop, edit and send again'}
          </Button>
        )}
        {!isOver && (
          <TwoClicks
            label="Cancel the task"
            confirm="Really cancel it"
            kind="danger"
            onConfirm={() => void act(cancel)}
          />
        )}
      </p>
      {note && <Note>{note}</Note>}
    </>
  );
}

type TabProps = Readonly<{
  tab: string;
  followed: Followed;
  task: Task;
  shown: Readonly<{ view: View; count: number; move: (event: number) => void }>;
}>;

function Tab({ tab, followed, task, shown: { view, count, move } }: TabProps) {
  const { agent, id, events } = followed;
  const at = count === events.length ? undefined : timeOf(events, count);
  switch (tab) {
    case 'events':
      return (
        <Rows
          count={events.length}
          height={ROW_PIXELS}
          label="Events"
          row={(index) => (
            <Button
              class="row event"
              aria-current={index === count - 1 ? 'step' : undefined}
              onClick={() => move(index + 1)}
            >
              {visible(lineOf(events[index]!))}
            </Button>
          )}
        />
      );
    case 'waterfall':
      return <Waterfall task={task} events={events} at={at} onMove={move} />;
    case 'tree':
      return (
        <>
          <Tree task={task} at={at} />
          <Spending task={task} />
        </>
      );
    case 'requests':
      return <Requests task={task} />;
    case 'artifacts': {
      const { artifacts } = view;
      if (artifacts.length === 0)
        return (
          <Nothing icon="files">
            <p>There are no artifacts at this event.</p>
            <p>
              An agent's answer and the files that it makes become artifacts. Move the slider to a later
              event, or <a href={link('tasks', agent, id)}>read what was said so far</a>.
            </p>
          </Nothing>
        );
      return (
        <>
          {artifacts.map(({ artifactId, name, parts }) => (
            <article key={artifactId}>
              <h3>{name}</h3>
              <Parts parts={parts} />
            </article>
          ))}
        </>
      );
    }
    case 'compare':
      return <Compare agent={agent} task={task} />;
    case 'raw':
      return <Raw agent={agent} id={id} events={events.slice(Math.max(0, count - RAW_EVENTS), count)} />;
    default:
      return (
        <>
          <Conversation view={view} />
          <details>
            <summary>Decisions in this task</summary>
            <Decisions task={task} />
          </details>
        </>
      );
  }
}

/** When the task was as it is shown. Events of an artifact have no time: that of the event before counts. */
function timeOf(events: readonly StreamEvent[], count: number): number {
  const shown = events.slice(0, count).findLast(({ statusUpdate }) => statusUpdate?.status.timestamp);
  return Date.parse(shown?.statusUpdate?.status.timestamp ?? '') || 0;
}

const RAW_EVENTS = 100;
const LINE_CHARACTERS = 160;

/** An event in one line: its number, time, author and what it says. */
function lineOf(event: StreamEvent): string {
  const { statusUpdate, artifactUpdate } = event;
  const metadata = statusUpdate?.metadata ?? artifactUpdate?.artifact.metadata;
  const activity = activityIn({ metadata });
  const time = statusUpdate?.status.timestamp;
  const what = artifactUpdate
    ? `artifact ${artifactUpdate.artifact.parts.map(({ text, filename }) => text ?? filename ?? 'data').join('')}`
    : activity
      ? Object.entries(activity)
          .filter(([name, value]) => name !== 'id' && typeof value === 'string')
          .map(([, value]) => value as string)
          .join(' ')
      : stateWords(statusUpdate!.status.state);
  const clock = time === undefined ? '' : new Date(time).toLocaleTimeString();
  return [seqOf(event), clock, authorIn({ metadata }), what.slice(0, LINE_CHARACTERS)].join('  ');
}

function Raw({ agent, id, events }: Readonly<{ agent: string; id: string; events: readonly StreamEvent[] }>) {
  const address = new URL(`../agents/${encodeURIComponent(agent)}`, location.href).href;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id } });
  const quoted = `'${body.replaceAll("'", String.raw`'\''`)}'`;
  const curl = [
    `curl -s '${address}'`,
    '-H "Authorization: Bearer $LANGO_TOKEN"',
    "-H 'Content-Type: application/json' -H 'A2A-Version: 1.0'",
    `-d ${quoted}`,
  ].join(' \\\n  ');
  return (
    <>
      <h3>As curl</h3>
      <pre tabIndex={0} role="region" aria-label="The call as curl">
        {curl}
      </pre>
      <p>
        <Copy text={curl} /> Set LANGO_TOKEN before you run it.
      </p>
      <h3>The last {events.length} events</h3>
      {events.length === 0 ? <p>There are no events yet.</p> : <Json value={events} label="Raw events" />}
    </>
  );
}
