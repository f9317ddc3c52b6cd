import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { getTask, listTasks, viewed } from './api.js';
import { Nothing } from './icons.js';
import { agentsOf, node } from './node.js';
import { Ago, link, Note, useLoaded } from './page.js';
import { visible } from './parts.js';
import { Decisions, Questions } from './questions.js';
import { useTitle } from './tasks.js';
import { parentIn, questionsOf, type Task } from './wire.js';

const REFRESH_MS = 5_000;
const LISTED_MESSAGES = 100;

/** The tasks below that waited at the last look without one above them that asks the same. */
let seenBefore: ReadonlySet<string> = new Set();

export type WaitingTask = Readonly<{ agent: string; task: Task }>;

/** All tasks that wait for a person, the one that waits longest first. */
export async function waitingTasks(agents: readonly string[]): Promise<readonly WaitingTask[]> {
  const states = ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED'];
  const lists = await Promise.all(
    agents.flatMap((agent) =>
      states.map(async (status) => {
        const { tasks } = await listTasks(agent, { status, historyLength: LISTED_MESSAGES });
        return tasks.map((task) => ({ agent, task }));
      }),
    ),
  );
  // A question of a task below is asked again by each task above it, a moment later: it counts once, for the topmost agent.
  const seen = new Set<string>();
  const own = lists.flat().filter(({ task }) => {
    const hashes = questionsOf(task).map(({ hash }) => hash);
    const isRepeat = hashes.length > 0 && hashes.every((hash) => seen.has(hash));
    for (const hash of hashes) seen.add(hash);
    return !isRepeat;
  });
  const isBelow = ({ task }: WaitingTask) =>
    task.history?.some((message) => parentIn(message) !== undefined) ?? false;
  const before = seenBefore;
  seenBefore = new Set(own.filter(isBelow).map(({ task }) => task.id));
  return own
    .filter((one) => !isBelow(one) || before.has(one.task.id))
    .sort((a, b) => ((a.task.status.timestamp ?? '') < (b.task.status.timestamp ?? '') ? -1 : 1));
}

/** The number of tasks that wait for the reader, as far as it is known. */
export const waitingCount = signal(0);

function useWaiting() {
  const agents = node.value ? agentsOf(node.value) : [];
  const load = async () => (node.value ? waitingTasks(agents) : undefined);
  const loaded = useLoaded(load, [agents.join(' '), viewed.value], REFRESH_MS);
  useEffect(() => {
    waitingCount.value = loaded.value?.length ?? 0;
  }, [loaded.value]);
  return loaded;
}

/** Keeps `waitingCount` up to date where the page of approvals does not. */
export function Watch() {
  useWaiting();
  return null;
}

export function InboxView() {
  const { value, fault, reload } = useWaiting();
  if (!value) return <Note>{fault || 'Loading the approvals…'}</Note>;
  return (
    <section>
      <h2>Approvals</h2>
      {(fault || value.length > 0) && <Note>{fault || `${value.length} waiting.`}</Note>}
      {value.length === 0 && !fault && (
        <Nothing icon="approvals">
          <p>Nothing waits for you.</p>
          <p>A call that needs your decision is shown here, and its number in the menu.</p>
          <p>
            Until then, see <a href={link('tasks')}>what your agents did</a>.
          </p>
        </Nothing>
      )}
      {value.map((waiting) => (
        <Waiting key={waiting.task.id} {...waiting} onReply={reload} />
      ))}
    </section>
  );
}

function Waiting({ agent, task, onReply }: WaitingTask & { readonly onReply: () => void }) {
  return (
    <section class="card" aria-label={`Task ${task.id}`}>
      <h3 class="title">
        <a href={link('tasks', agent, task.id)}>{visible(useTitle(agent, task, LISTED_MESSAGES))}</a>
      </h3>
      <p class="facts">
        {agent} asked <Ago at={task.status.timestamp} />
      </p>
      {questionsOf(task).length === 0 && (
        <p>
          It waits for a message: <a href={link('chat', agent, task.contextId)}>reply in its chat</a>.
        </p>
      )}
      <Questions agent={agent} task={task} onReply={onReply} />
      <Before agent={agent} id={task.id} />
    </section>
  );
}

function Before({ agent, id }: Readonly<{ agent: string; id: string }>) {
  const { value } = useLoaded(() => getTask(agent, id), [agent, id]);
  return (
    <details>
      <summary>What was decided before</summary>
      {value ? <Decisions task={value} /> : <p>Loading…</p>}
    </details>
  );
}
