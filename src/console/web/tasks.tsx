import { useEffect, useRef, useState } from 'preact/hooks';
import { duration, timeTaken } from '../../core/duration.js';
import { getTask, listTasks, newId, type TaskPage } from './api.js';
import { Mark, Nothing, type IconName } from './icons.js';
import { agentsOf, node } from './node.js';
import { Ago, Choice, Field, link, money, Note, number, place, Rows, useAction, useLoaded } from './page.js';
import { visible } from './parts.js';
import { hasEnded, stateWords, textOf, usageIn, waits, type Task } from './wire.js';

const REFRESH_MS = 5_000;
const ROW_PIXELS = 64;
const STATES = ['SUBMITTED', 'WORKING', 'INPUT_REQUIRED', 'COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'];
const STATE_NAMES = Object.fromEntries(STATES.map((state) => [state, stateWords(state)]));

/** Reads the tasks of an agent page by page, and again and again what has changed. */
class TaskPages {
  tasks: readonly Task[] = [];
  total = 0;
  next: string | undefined = '';
  #isBusy = false;
  readonly #list: (page: object) => Promise<TaskPage>;

  /** `isWhole`: the tasks come with all that was said, so that a word in them is found. */
  constructor(agent: string, state: string, isWhole: boolean) {
    const filter = {
      historyLength: isWhole ? SEARCHED_MESSAGES : LISTED_MESSAGES,
      ...(isWhole && { includeArtifacts: true }),
      ...(state !== '' && { status: `TASK_STATE_${state}` }),
    };
    this.#list = (page) => listTasks(agent, { ...filter, ...page });
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
    const page = await this.#list(pageToken === '' ? {} : { pageToken });
    this.total = page.totalSize ?? 0;
    return page;
  }
}

/** The words by which people know a task: what was asked first, as far as it is known. */
export function titleOf(task: Pick<Task, 'id' | 'history'>): string {
  const files = messagesOf(task).flatMap(({ parts }) => parts.map(({ filename }) => filename));
  return (requestOf(task) || files.find(Boolean) || task.id).slice(0, TITLE_CHARACTERS);
}

const messagesOf = ({ history = [] }: Pick<Task, 'history'>) =>
  history.filter(({ role }) => role === 'ROLE_USER');

/** The whole text of the first message that has one; empty when none has. */
export const requestOf = (task: Pick<Task, 'history'>): string =>
  messagesOf(task)
    .map(({ parts }) => textOf(parts).trim())
    .find((text) => text !== '') ?? '';

const TITLE_CHARACTERS = 200;
export const LISTED_MESSAGES = 10;
const SEARCHED_MESSAGES = 100;
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

const FOUND_CHARACTERS = 80;

/** Returns the text around the words that were searched for: empty when the title has them, undefined when no text does. */
function foundIn(task: Task, words: string): string | undefined {
  if (`${titles.get(task.id) ?? titleOf(task)} ${task.id}`.toLowerCase().includes(words)) return '';
  const { history = [], artifacts = [] } = task;
  const said = [...history, ...artifacts].map(({ parts }) => textOf(parts)).join('\n');
  const at = said.toLowerCase().indexOf(words);
  if (at < 0) return undefined;
  const from = Math.max(0, at - FOUND_CHARACTERS / 2);
  return `${from > 0 ? '…' : ''}${said.slice(from, at + words.length + FOUND_CHARACTERS)}`;
}

export function TasksView() {
  const status = node.value;
  const [agent, setAgent] = useState<string>();
  // The address may ask for a state, so that a link shows the tasks in it.
  const [, asked = ''] = /\?state=(\w+)$/.exec(place.value) ?? [];
  const [state, setState] = useState(STATES.includes(asked) ? asked : '');
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
  const words = search.trim().toLowerCase();
  const isWhole = words !== '';
  useEffect(() => {
    if (chosen === undefined) return undefined;
    const current = new TaskPages(chosen, state, isWhole);
    pages.current = current;
    change(() => current.more());
    const timer = setInterval(() => {
      if (!document.hidden) change(() => current.refresh());
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [chosen, state, isWhole]);
  const { tasks = [], total = 0, next } = pages.current ?? { next: '' };
  const found = tasks.flatMap((task) => {
    const said = foundIn(task, words);
    return said === undefined ? [] : [{ task, said }];
  });
  const isSearching = isWhole && next !== undefined;
  useEffect(() => {
    if (isSearching) change(() => pages.current!.more());
  }, [isSearching, tasks.length]);
  if (!status) return <Note>Loading the tasks…</Note>;
  const isLoading = tasks.length === 0 && next !== undefined;
  return (
    <section>
      <h2>Tasks</h2>
      <div class="filters">
        <Choice label="Agent" value={chosen!} names={agentsOf(status)} onChoose={setAgent} />
        <Choice label="State" value={state} names={STATE_NAMES} none="all" onChoose={setState} />
        <Field
          label="Search in all that was said"
          type="search"
          size={30}
          value={search}
          onText={setSearch}
        />
      </div>
      {tasks.length > 0 || isLoading || fault ? (
        <Note>
          {fault || (isLoading ? 'Loading the tasks…' : countWords({ found, tasks, total, isSearching }))}
        </Note>
      ) : (
        <Nothing icon="tasks">
          <p>There are no such tasks. Choose another agent or state, or begin one.</p>
          <a class="button primary" href={link('chat', chosen!, newId())}>
            Ask {chosen}
          </a>
        </Nothing>
      )}
      {found.length > 0 && (
        <Rows
          count={found.length}
          height={ROW_PIXELS}
          label="Tasks"
          row={(index) => found[index] && <TaskRow agent={chosen!} {...found[index]} />}
          onEnd={() => change(() => pages.current!.more())}
        />
      )}
    </section>
  );
}

type Counts = Readonly<
  Record<'found' | 'tasks', readonly unknown[]> & { total: number; isSearching: boolean }
>;

function countWords({ found, tasks, total, isSearching }: Counts): string {
  const known = tasks.length;
  if (found.length < known)
    return `${number(found.length)} of ${number(known)} tasks match${isSearching ? '; searching on…' : '.'}`;
  return `${number(Math.max(total, known))} tasks, newest first.`;
}

export function State({ state }: Readonly<{ state: string }>) {
  const [icon, kind] = looksOf(state);
  return (
    <Mark icon={icon} kind={kind}>
      {stateWords(state)}
    </Mark>
  );
}

function looksOf(state: string): readonly [IconName, string] {
  if (waits(state)) return ['waits', 'waits'];
  if (/COMPLETED/i.test(state)) return ['completed', 'completed'];
  if (/CANCELED/i.test(state)) return ['canceled', ''];
  return hasEnded(state) ? ['failed', 'failed'] : ['works', ''];
}

/** The time of an ended task, or of one that works so far. */
function timeOf({ id, status: { state, timestamp } }: Task): string {
  const isOver = hasEnded(state);
  const taken = timeTaken(id, isOver ? timestamp : new Date().toISOString());
  if (taken === undefined || waits(state)) return '';
  return isOver ? `took ${duration(taken)}` : `for ${duration(taken)}`;
}

/** How long a task took, and its tokens and money, as far as they are known. */
export function factsOf(task: Task): readonly string[] {
  const usage = usageIn(task);
  return [
    timeOf(task),
    usage ? `${number(usage.input + usage.output)} tokens` : '',
    money(usage?.rows ?? []),
  ].filter(Boolean);
}

/** `said`: the words around what was looked for. */
function TaskRow({ agent, task, said }: Readonly<{ agent: string; task: Task; said: string }>) {
  const { id, status } = task;
  const title = useTitle(agent, task);
  return (
    <a class="row" href={link('tasks', agent, id)}>
      <State state={status.state} />
      <span class="title" dir="auto">
        {visible(title)}
        {said !== '' && <small>{visible(said)}</small>}
      </span>
      <span class="facts">
        <Ago at={status.timestamp} />
        {factsOf(task).map((fact) => (
          <span key={fact} class={fact.endsWith('tokens') ? 'spare' : ''}>
            {' '}
            · {fact}
          </span>
        ))}
      </span>
    </a>
  );
}
