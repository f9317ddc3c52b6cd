import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from './api.js';
import { agentsOf, node } from './node.js';
import { Ago, link, money, Note, number, Rows } from './page.js';
import { visible } from './parts.js';
import { stateWords, textOf, usageIn, waits, type Task } from './wire.js';

interface Page {
  readonly tasks: readonly Task[];
  readonly nextPageToken?: string;
  readonly totalSize?: number;
}

const PAGE = 100;
const REFRESH_MS = 5_000;
const ROW_PIXELS = 64;
const STATES = ['SUBMITTED', 'WORKING', 'INPUT_REQUIRED', 'COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'];

/** Reads the tasks of an agent page by page, and again and again what has changed. */
class TaskPages {
  tasks: readonly Task[] = [];
  total = 0;
  next: string | undefined = '';
  #isBusy = false;

  readonly #agent: string;
  readonly #state: string;

  constructor(agent: string, state: string) {
    this.#agent = agent;
    this.#state = state;
  }

  async more(): Promise<void> {
    if (this.#isBusy || this.next === undefined) return;
    this.#isBusy = true;
    try {
      const page = await this.#read(this.next);
      this.next = page.nextPageToken || undefined;
      this.#add(page.tasks);
    } finally {
      this.#isBusy = false;
    }
  }

  async refresh(): Promise<void> {
    const page = await this.#read('');
    const fresh = new Set(page.tasks.map(({ id }) => id));
    this.tasks = [...page.tasks, ...this.tasks.filter(({ id }) => !fresh.has(id))];
  }

  async #read(pageToken: string): Promise<Page> {
    const page = await ask<Page>(this.#agent, 'ListTasks', {
      pageSize: PAGE,
      historyLength: 5,
      ...(this.#state === '' ? {} : { status: `TASK_STATE_${this.#state}` }),
      ...(pageToken === '' ? {} : { pageToken }),
    });
    this.total = page.totalSize ?? 0;
    return page;
  }

  #add(tasks: readonly Task[]): void {
    const known = new Set(this.tasks.map(({ id }) => id));
    this.tasks = [...this.tasks, ...tasks.filter(({ id }) => !known.has(id))];
  }
}

/** The words by which people know a task: what was asked first, as far as it is known. */
export function titleOf({ id, history = [] }: Pick<Task, 'id' | 'history'>): string {
  const asked = history.find(({ role, parts }) => role === 'ROLE_USER' && textOf(parts) !== '') ?? history[0];
  return (
    textOf(asked?.parts ?? [])
      .slice(0, 200)
      .trim() || id
  );
}

export function TasksView() {
  const status = node.value;
  const [agent, setAgent] = useState<string>();
  const [state, setState] = useState('');
  const [search, setSearch] = useState('');
  const [fault, setFault] = useState('');
  const [, draw] = useState(0);
  const pages = useRef<TaskPages | undefined>(undefined);
  const chosen = agent ?? status?.root;
  const act = async (work: () => Promise<void>) => {
    try {
      await work();
      setFault('');
    } catch (error) {
      setFault((error as Error).message);
    }
    draw((before) => before + 1);
  };
  useEffect(() => {
    if (chosen === undefined) return undefined;
    const current = new TaskPages(chosen, state);
    pages.current = current;
    void act(() => current.more());
    const timer = setInterval(() => {
      if (!document.hidden) void act(() => current.refresh());
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [chosen, state]);
  const { tasks = [], next = '', total = 0 } = pages.current ?? {};
  const words = search.trim().toLowerCase();
  const found = tasks.filter((task) => `${titleOf(task)} ${task.id}`.toLowerCase().includes(words));
  const isSearching = words !== '' && pages.current?.next !== undefined;
  useEffect(() => {
    if (isSearching) void act(() => pages.current!.more());
  }, [isSearching, tasks.length]);
  if (!status || (tasks.length === 0 && next !== undefined && pages.current?.next !== undefined && !fault))
    return <Note>Loading the tasks…</Note>;
  return (
    <section>
      <h2>Tasks</h2>
      <Filters
        {...{ agents: agentsOf(status), agent: chosen!, state, search }}
        {...{ setAgent, setState, setSearch }}
      />
      <Note>{fault || countWords(found.length, tasks.length, { total, isSearching })}</Note>
      {found.length > 0 && (
        <Rows
          count={found.length}
          height={ROW_PIXELS}
          label="Tasks"
          row={(index) => found[index] && <TaskRow agent={chosen!} task={found[index]} />}
          onEnd={() => void act(() => pages.current!.more())}
        />
      )}
    </section>
  );
}

interface FiltersProps {
  readonly agents: readonly string[];
  readonly agent: string;
  readonly state: string;
  readonly search: string;
  readonly setAgent: (name: string) => void;
  readonly setState: (state: string) => void;
  readonly setSearch: (words: string) => void;
}

function Filters({ agents, agent, state, search, setAgent, setState, setSearch }: FiltersProps) {
  return (
    <div class="filters">
      <label>
        Agent{' '}
        <select value={agent} onChange={({ currentTarget }) => setAgent(currentTarget.value)}>
          {agents.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label>
        State{' '}
        <select value={state} onChange={({ currentTarget }) => setState(currentTarget.value)}>
          <option value="">all</option>
          {STATES.map((name) => (
            <option key={name} value={name}>
              {stateWords(name.replaceAll('_', '-'))}
            </option>
          ))}
        </select>
      </label>
      <label>
        Search{' '}
        <input type="search" value={search} onInput={({ currentTarget }) => setSearch(currentTarget.value)} />
      </label>
    </div>
  );
}

interface Counted {
  readonly total: number;
  readonly isSearching: boolean;
}

function countWords(found: number, known: number, { total, isSearching }: Counted): string {
  if (known === 0) return 'There are no such tasks. Begin one in the chat.';
  if (found < known)
    return `${number(found)} of ${number(known)} tasks match${isSearching ? '; searching on…' : '.'}`;
  return `${number(Math.max(total, known))} tasks, newest first.`;
}

function TaskRow({ agent, task }: { readonly agent: string; readonly task: Task }) {
  const { id, status } = task;
  const usage = usageIn(task);
  const facts = [usage && `${number(usage.input + usage.output)} tokens`, money(usage?.rows ?? [])];
  return (
    <a class="row" href={link('tasks', agent, id)}>
      <span class={`state ${waits(status.state) ? 'waits' : ''}`}>{stateWords(status.state)}</span>
      <span class="title" dir="auto">
        {visible(titleOf(task))}
      </span>
      <span class="facts">
        <Ago at={status.timestamp} />
        {facts.filter(Boolean).map((fact) => ` · ${fact}`)}
      </span>
    </a>
  );
}
