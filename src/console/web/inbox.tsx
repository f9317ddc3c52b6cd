import { getTask, listTasks } from './api.js';
import { agentsOf, node } from './node.js';
import { Ago, link, Note, useLoaded } from './page.js';
import { Decisions, Questions } from './questions.js';
import { parentIn, questionsOf, type Task } from './wire.js';

const REFRESH_MS = 3_000;

/** The tasks of the last look. */
let seenBefore: ReadonlySet<string> = new Set();

type WaitingTask = Readonly<{ agent: string; task: Task }>;

/** All tasks that wait for a person, the one that waits longest first. */
async function waitingTasks(agents: readonly string[]): Promise<readonly WaitingTask[]> {
  const states = ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED'];
  const lists = await Promise.all(
    agents.flatMap((agent) =>
      states.map(async (status) => {
        const { tasks } = await listTasks(agent, { status, historyLength: 100 });
        return tasks.map((task) => ({ agent, task }));
      }),
    ),
  );
  // A question of a task below is asked again by each task above it, a moment later: it counts once, for the topmost agent.
  const seen = new Set<string>();
  const before = seenBefore;
  seenBefore = new Set(lists.flat().map(({ task }) => task.id));
  return lists
    .flat()
    .filter(({ task }) => {
      const hashes = questionsOf(task).map(({ hash }) => hash);
      const isRepeat = hashes.length > 0 && hashes.every((hash) => seen.has(hash));
      for (const hash of hashes) seen.add(hash);
      const isBelow = task.history?.some((message) => parentIn(message) !== undefined) ?? false;
      return !isRepeat && (!isBelow || before.has(task.id));
    })
    .sort((a, b) => ((a.task.status.timestamp ?? '') < (b.task.status.timestamp ?? '') ? -1 : 1));
}

export function InboxView() {
  const status = node.value;
  const agents = status ? agentsOf(status) : [];
  const { value, fault, reload } = useLoaded(() => waitingTasks(agents), [agents.join(' ')], REFRESH_MS);
  if (!value) return <Note>{fault || 'Loading the approvals…'}</Note>;
  return (
    <section>
      <h2>Approvals</h2>
      <Note>{fault || (value.length === 0 ? 'Nothing waits for you.' : `${value.length} waiting.`)}</Note>
      {value.map(({ agent, task }) => (
        <section class="card" key={task.id} aria-label={`Task ${task.id}`}>
          <p class="facts">
            <a href={link('tasks', agent, task.id)}>The task of {agent}</a> asked{' '}
            <Ago at={task.status.timestamp} />
          </p>
          {questionsOf(task).length === 0 && (
            <p>
              It waits for a message: <a href={link('chat', agent, task.contextId)}>reply in its chat</a>.
            </p>
          )}
          <Questions agent={agent} task={task} onReply={reload} />
          <Before agent={agent} id={task.id} />
        </section>
      ))}
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
