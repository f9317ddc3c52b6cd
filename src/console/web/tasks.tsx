import { useEffect, useRef, useState } from 'preact/hooks';
import { duration, timeTaken } from '../../core/duration.js';
import { getTask, listTasks, type TaskPage } from './api.js';
import { agentsOf, node } from './node.js';
import { Ago, Choice, Field, link, money, Note, number, place, Rows, useAction, useLoaded } from './page.js';
import { visible } from './parts.js';
import { hasEnded, stateWords, textOf, usageIn, waits, type Task } from './wire.js';

const REFRESH_MS = 5_000;
const ROW_PIXELS = 64;
const STATES = ['', 'SUBMITTED', 'WORKING', 'INPUT_REQUIRED', 'COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'];

const choiceWords = (state: string) => (state === '' ? 'all' : stateWords(state.replaceAll('_', '-')));

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
      const known = new Set(this.tasks.map(({ id }) => id));
      this.tasks = [...this.tasks, ...page.tasks.filter(({ id }) => !known.has(id))];
    } finally {
      this.#isBusy = false;
    }
  }

  async refresh(): Promise<void> {
    const page = await this.#read('');
    const fresh = new Set(page.tasks.map(({ id }) => id));
    this.tasks = [...page.tasks, ...this.tasks.filter(({ id }) => !fresh.has(id))];
  }

  async #read(pageToken: string): Promise<TaskPage> {
    const page = await listTasks(this.#agent, {
      historyLength: LISTED_MESSAGES,
      ...(this.#state === '' ? {} : { status: `TASK_STATE_${this.#state}` }),
      ...(pageToken === '' ? {} : { pageToken }),
    });
    this.total = page.totalSize ?? 0;
    return page;
  }
}

/** The words by which people know a task: what was asked first, as far as it is known. */
export function titleOf({ id, history = [] }: Pick<Task, 'id' | 'history'>): string {
  const asked = history.filter(({ role }) => role === 'ROLE_USER');
  const words = asked.map(({ parts }) => textOf(parts).trim()).find((text) => text !== '');
  const file = asked.flatMap(({ parts }) => parts.flatMap(({ filename = '' }) => filename || [])).at(0);
  return (words ?? file ?? id).slice(0, TITLE_CHARACTERS);
}

const TITLE_CHARACTERS = 200;
const LISTED_MESSAGES = 10;
/** The titles of tasks that a list shows without their first message. */
const titles = new Map<string, string>();

/** The title of a task that was listed with its newest messages, at most `most`: one with more is read whole. */
export function useTitle(agent: string, task: Task, most = LISTED_MESSAGES): string {
  const { id, history = [] } = task;
  const isCut = history.length >= most && !titles.has(id);
  const { value } = useLoaded(async () => (isCut ? getTask(agent, id) : undefined), [id, isCut]);
  if (value) titles.set(id, titleOf(value));
  return titles.get(id) ?? (isCut ? '…' : titleOf(task));
}

/** The state that the address asks for, so that a link shows the tasks in it. */
function stateInPlace(): string {
  const [, state = ''] = /\?state=(\w+)$/.exec(place.value) ?? [];
  return STATES.includes(state) ? state : '';
}

export function TasksView() {
  const status = node.value;
  const [agent, setAgent] = useState<string>();
  const [state, setState] = useState(stateInPlace());
  const [search, setSearch] = useState('');
  const [, draw] = useState(0);
  const pages = useRef<TaskPages | undefined>(undefined);
  const chosen = agent ?? status?.root;
  const { note: fault, act } = useAction();
  const change = (work: () => Promise<void>) =>
    void act(async () => {
      await work();
      draw((before) => before + 1);
      return '';
    });
  useEffect(() => {
    if (chosen === undefined) return undefined;
    const current = new TaskPages(chosen, state);
    pages.current = current;
    change(() => current.more());
    const timer = setInterval(() => {
      if (!document.hidden) change(() => current.refresh());
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [chosen, state]);
  const { tasks = [], next = '', total = 0 } = pages.current ?? {};
  const words = search.trim().toLowerCase();
  const found = tasks.filter((task) =>
    `${titles.get(task.id) ?? titleOf(task)} ${task.id}`.toLowerCase().includes(words),
  );
  const isSearching = words !== '' && pages.current?.next !== undefined;
  useEffect(() => {
    if (isSearching) change(() => pages.current!.more());
  }, [isSearching, tasks.length]);
  if (!status || (tasks.length === 0 && next !== undefined && pages.current?.next !== undefined && !fault))
    return <Note>Loading the tasks…</Note>;
  return (
    <section>
      <h2>Tasks</h2>
      <div class="filters">
        <Choice label="Agent" value={chosen!} names={agentsOf(status)} onChoose={setAgent} />
        <Choice label="State" value={state} names={STATES} wordsOf={choiceWords} onChoose={setState} />
        <Field label="Search" type="search" value={search} onText={setSearch} />
      </div>
      <Note>{fault || countWords(found.length, tasks.length, { total, isSearching })}</Note>
      {found.length > 0 && (
        <Rows
          count={found.length}
          height={ROW_PIXELS}
          label="Tasks"
          row={(index) => found[index] && <TaskRow agent={chosen!} task={found[index]} />}
          onEnd={() => change(() => pages.current!.more())}
        />
      )}
    </section>
  );
}

function countWords(
  found: number,
  known: number,
  { total, isSearching }: Readonly<{ total: number; isSearching: boolean }>,
): string {
  if (known === 0) return 'There are no such tasks. Begin one in the chat.';
  if (found < known)
    return `${number(found)} of ${number(known)} tasks match${isSearching ? '; searching on…' : '.'}`;
  return `${number(Math.max(total, known))} tasks, newest first.`;
}

/** A state with its sign, so that it is told apart without its color too. */
export function State({ state }: Readonly<{ state: string }>) {
  const [sign, kind] = waits(state)
    ? ['‖', 'waits']
    : /COMPLETED/i.test(state)
      ? ['✓', 'completed']
      : hasEnded(state)
        ? ['✕', 'failed']
        : ['•', ''];
  return (
    <span class={`state ${kind}`}>
      {sign} {stateWords(state)}
    </span>
  );
}

/** The time of an ended task, or of one that works so far. */
function timeOf({ id, status: { state, timestamp } }: Task): string {
  const isOver = hasEnded(state);
  const taken = timeTaken(id, isOver ? timestamp : new Date().toISOString());
  if (taken === undefined || waits(state)) return '';
  return isOver ? `took ${duration(taken)}` : `for ${duration(taken)}`;
}

function TaskRow({ agent, task }: Readonly<{ agent: string; task: Task }>) {
  const { id, status } = task;
  const title = useTitle(agent, task);
  const usage = usageIn(task);
  const facts = [
    timeOf(task),
    usage && `${number(usage.input + usage.output)} tokens`,
    money(usage?.rows ?? []),
  ];
  return (
    <a class="row" href={link('tasks', agent, id)}>
      <State state={status.state} />
      <span class="title" dir="auto">
        {visible(title)}
      </span>
      <span class="facts">
        <Ago at={status.timestamp} />
        {facts.filter(Boolean).map((fact) => ` · ${fact}`)}
      </span>
    </a>
  );
}
