import { useEffect, useState } from 'preact/hooks';
import { pagesOf } from '../../core/page.js';
import { owner } from './api.js';
import { KnowledgeGraph } from './knowledge-graph.js';
import { Icon, Nothing } from './icons.js';
import { loadNode } from './node.js';
import { Button, link, names, Note, Rows, saveFile, TwoClicks, useAction, useLoaded } from './page.js';
import { exact, Json, visible } from './parts.js';
import { titleOf } from './tasks.js';
import type { Task } from './wire.js';

type Page = Readonly<{ items: readonly unknown[]; next?: string }>;

/** The member that names an item of a kind whose items can be forgotten one by one. */
const NAMED_BY: Readonly<Record<string, string>> = {
  knowledge: 'key',
  learnings: 'key',
  facts: 'content',
  tasks: 'contextId',
  files: 'name',
  skills: 'name',
};
const GRAPH = 'graph';
const ROW_PIXELS = 44;

const readPage = (kind: string, after = '') =>
  owner<Page>(`data/${encodeURIComponent(kind)}${after === '' ? '' : `?after=${encodeURIComponent(after)}`}`);

export function DataView() {
  const { value: data, fault } = useLoaded(() => owner<{ kinds: readonly string[] }>('data'), []);
  const secrets = useLoaded(() => owner<{ secrets: readonly { readonly name: string }[] }>('secrets'), []);
  const status = useLoaded(loadNode, []);
  const taskUse = status.value?.taskUse;
  // The page below the items is shown once they have come, so that they push nothing down.
  const [loaded, setLoaded] = useState('');
  const { note, act } = useAction();
  const isReady = (secrets.value ?? secrets.fault) && (status.value ?? status.fault);
  if (!data || !isReady) return <Note>{fault || 'Loading your data…'}</Note>;
  const { kinds } = data;
  const [, kind = kinds[0]!] = names();
  const finish = (words: string, work: () => Promise<unknown>) =>
    void act(() => work().then(() => 'Done.'), words);
  return (
    <section>
      <h2>Kept data</h2>
      <nav class="tabs" aria-label="Kinds of data">
        {kinds.map((name) => (
          <a key={name} href={link('data', name)} aria-current={name === kind ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      {kind === GRAPH && <KnowledgeGraph read={(after) => readPage(GRAPH, after)} />}
      <Kind key={kind} kind={kind} onLoaded={() => setLoaded(kind)} />
      <div hidden={loaded !== kind}>
        {taskUse && (
          <p class="text">
            Your tasks take {inMegabytes(taskUse.bytes)} of {inMegabytes(taskUse.limit)} MB in the database.
          </p>
        )}
        <h3>Names of secrets</h3>
        <p class="text">
          {secrets.value && <SecretNames names={secrets.value.secrets.map(({ name }) => name)} />}
          {secrets.fault}
        </p>
        <h3>All of it</h3>
        <p class="buttons">
          <Button onClick={() => finish('Reading everything…', () => exportAll(kinds))}>
            <Icon name="save" /> Export
          </Button>
          <TwoClicks
            label="Forget everything"
            confirm="Really forget everything except secrets and records of money"
            kind="danger"
            onConfirm={() => finish('Forgetting…', () => owner('data', 'DELETE'))}
          />
        </p>
        {note && <Note>{note}</Note>}
      </div>
    </section>
  );
}

const inMegabytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1);

function SecretNames({ names: secrets }: Readonly<{ names: readonly string[] }>) {
  if (secrets.length > 0) return <>{secrets.join(', ')}. Their values never reach the browser.</>;
  return (
    <>
      You have no secrets. Store one with: <code>npx lango secrets set NAME</code>
    </>
  );
}

const NONE = 'You have no data of this kind.';
const REMEMBER = 'Ask an agent in the chat to remember something.';
const COMES = 'Long conversations leave it behind: nothing is to be done for it.';
const ADVICE: Readonly<Record<string, string>> = {
  ...{ knowledge: REMEMBER, learnings: REMEMBER, facts: REMEMBER },
  ...{ observations: COMES, reflections: COMES },
  tasks: 'Begin a task in the chat.',
  documents: 'Add documents with: npx lango ingest FILE',
  graph: 'Ask an agent to add something to the graph.',
};

function Kind({ kind, onLoaded }: Readonly<{ kind: string; onLoaded: () => void }>) {
  const [items, setItems] = useState<readonly unknown[]>([]);
  const [next, setNext] = useState<string | undefined>('');
  const [chosen, setChosen] = useState<unknown>();
  const { note, act } = useAction('Loading…');
  const more = () =>
    act(async () => {
      if (next === undefined) return undefined;
      const page = await readPage(kind, next);
      setItems((before) => [...before, ...page.items]);
      setNext(page.next);
      return items.length + page.items.length === 0 ? NONE : '';
    });
  useEffect(() => void more().then(onLoaded), []);
  const nameOf = (item: unknown) => (item as DataItem)[NAMED_BY[kind] ?? ''];
  const forget = (name: string) =>
    act(async () => {
      // The server forgets a conversation with all its tasks.
      const place = kind === 'tasks' ? 'contexts' : kind;
      await owner(`data/${encodeURIComponent(place)}?name=${encodeURIComponent(name)}`, 'DELETE');
      setItems((before) => before.filter((item) => nameOf(item) !== name));
      setChosen(undefined);
      return 'Forgotten.';
    });
  const name = chosen === undefined ? undefined : nameOf(chosen);
  return (
    <>
      {note === NONE ? (
        <Nothing icon="data">
          <p>{NONE}</p>
          <p>{ADVICE[kind] ?? 'Agents keep it when they need it.'}</p>
        </Nothing>
      ) : (
        note && <Note>{note}</Note>
      )}
      {items.length > 0 && (
        <Rows
          count={items.length}
          height={ROW_PIXELS}
          label={kind}
          row={(index) => (
            <Button class="row event" onClick={() => setChosen(items[index])}>
              {visible(headline(kind, items[index] as DataItem))
                .replace(/\s+/g, ' ')
                .slice(0, 160)}
            </Button>
          )}
          onEnd={() => void more()}
        />
      )}
      {chosen !== undefined && (
        <article>
          <Json value={chosen} label="The entry" />
          {typeof name === 'string' && (
            <TwoClicks
              label={kind === 'tasks' ? 'Forget its conversation' : 'Forget it'}
              confirm="Really forget it"
              kind="danger"
              onConfirm={() => void forget(name)}
            />
          )}
        </article>
      )}
    </>
  );
}

type DataItem = Readonly<Record<string, unknown>>;
/** The members that say in words what an item is about. */
const WORDS = ['key', 'name', 'subject', 'predicate', 'object', 'text', 'content'];

/** One line for people; the whole item as JSON where no member has words. */
function headline(kind: string, item: DataItem): string {
  if (kind === 'tasks') return `${String(item.agent)}: ${titleOf(item as unknown as Task)}`;
  const words = new Set(WORDS.map((member) => item[member]).filter((value) => typeof value === 'string'));
  return [...words].join(' · ') || exact(item);
}

/** Saves everything that is kept as one file of JSON. */
async function exportAll(kinds: readonly string[]): Promise<void> {
  const all: Record<string, unknown[]> = {};
  for (const kind of kinds) {
    const items = (all[kind] = [] as unknown[]);
    for await (const page of pagesOf((after) => readPage(kind, after))) items.push(...page.items);
  }
  saveFile('lango-data.json', 'application/json', JSON.stringify(all, undefined, 2));
}
