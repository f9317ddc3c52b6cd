import { ask } from './api.js';
import type { Branch } from './fold.js';
import { agentsOf, node } from './node.js';
import { visible } from './parts.js';
import { duration, link, money, number, Table, useLoaded } from './page.js';
import { hasEnded, parentIn, stateWords, usageIn, type Task } from './wire.js';

interface Child {
  readonly agent: string;
  readonly task: Task;
}

interface TreeProps {
  readonly agent: string;
  readonly task: Task;
  readonly branches: readonly Branch[];
}

const REFRESH_MS = 1_000;

/** Who delegated to whom below a task, with the time, tokens and money of each delegation. */
export function Tree({ agent, task, branches }: TreeProps) {
  const isOver = hasEnded(task.status.state);
  const agents = agentsBelow(branches).filter((name) => node.value && agentsOf(node.value).includes(name));
  const { value = [] } = useLoaded(
    () => childrenOf(task.contextId, agents),
    [agents.join(' '), isOver],
    isOver ? undefined : REFRESH_MS,
  );
  if (branches.length === 0) return <p>The agent did all the work itself.</p>;
  return (
    <ul class="tree">
      <li>
        <p>
          <strong>{agent}</strong> <Spent task={task} />
        </p>
        <Branches branches={branches} parent={task.id} known={value} />
      </li>
    </ul>
  );
}

interface BranchesProps {
  readonly branches: readonly Branch[];
  readonly parent: string | undefined;
  readonly known: readonly Child[];
}

function Branches({ branches, parent, known }: BranchesProps) {
  const own = known.filter(({ task }) => task.history?.some((message) => parentIn(message) === parent));
  return (
    <ul>
      {branches.map(({ delegation, tools, branches: below }, index) => {
        const { agent, state, startedAt, endedAt, request } = delegation;
        // The n-th delegation of a task to an agent is its n-th task there. One that waited for a person goes on.
        const before = branches
          .slice(0, index)
          .filter(
            (one) => one.delegation.agent === agent && !/required/.test(one.delegation.state ?? ''),
          ).length;
        const child = own.filter((one) => one.agent === agent)[before];
        return (
          <li key={delegation.key}>
            <p>
              {child ? <a href={link('tasks', agent, child.task.id)}>{agent}</a> : <strong>{agent}</strong>}{' '}
              <span class="facts">
                {state === undefined ? 'works' : stateWords(state)},{' '}
                {duration((endedAt ?? Date.now()) - startedAt)}
                {tools.length > 0 && `, ${tools.length} tool ${tools.length === 1 ? 'call' : 'calls'}`}
                {!child && node.value && !agentsOf(node.value).includes(agent) && ', on another node'}
              </span>{' '}
              {child && <Spent task={child.task} />}
            </p>
            <p class="text request">{visible(request)}</p>
            {below.length > 0 && <Branches branches={below} parent={child?.task.id} known={known} />}
          </li>
        );
      })}
    </ul>
  );
}

function Spent({ task }: { readonly task: Task }) {
  const usage = usageIn(task);
  if (!usage) return null;
  const sum = money(usage.rows ?? []);
  return (
    <span class="facts">
      {number(usage.input + usage.output)} tokens{sum !== '' && `, ${sum}`}
    </span>
  );
}

/** What each agent and model used, on each node. */
export function Spending({ task }: { readonly task: Task }) {
  const { rows = [] } = usageIn(task) ?? {};
  if (rows.length === 0) return null;
  return (
    <Table
      caption="Tokens and money, with all delegations"
      heads={['Agent', 'Node', 'Model', 'In', 'Out', 'Money']}
    >
      <tbody>
        {rows.map((row) => (
          <tr key={`${row.node} ${row.agent} ${row.model} ${row.currency}`}>
            <th scope="row">{row.agent}</th>
            <td>{row.node}</td>
            <td>{row.model}</td>
            <td class="number">{number(row.input)}</td>
            <td class="number">{number(row.output)}</td>
            <td class="number">{money([row]) || 'no price'}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

function agentsBelow(branches: readonly Branch[]): readonly string[] {
  const all = branches.flatMap(({ delegation, branches: below }) => [
    delegation.agent,
    ...agentsBelow(below),
  ]);
  return [...new Set(all)].sort();
}

/** The tasks of these agents in the context; a delegation keeps the context of its task. Oldest first. */
async function childrenOf(contextId: string, agents: readonly string[]): Promise<readonly Child[]> {
  const lists = await Promise.all(
    agents.map(async (agent) => {
      const params = { contextId, pageSize: 100, historyLength: 100 };
      const { tasks } = await ask<{ readonly tasks: readonly Task[] }>(agent, 'ListTasks', params);
      return tasks.map((task) => ({ agent, task }));
    }),
  );
  // Ids are ordered by time.
  return lists.flat().sort((a, b) => (a.task.id < b.task.id ? -1 : 1));
}
