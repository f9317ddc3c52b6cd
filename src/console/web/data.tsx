import { useEffect, useState } from 'preact/hooks';
import { owner } from './api.js';
import { link, names, Note, Rows, TwoClicks, useLoaded } from './page.js';
import { exact, Json, visible } from './parts.js';
import { titleOf } from './tasks.js';
import type { Task } from './wire.js';

interface Page {
  readonly items: readonly unknown[];
  readonly next?: string;
}
interface Secret {
  readonly name: string;
  readonly places?: readonly string[];
  readonly hosts?: readonly string[];
}

/** The member that names an entry of a kind that can be forgotten one by one. */
const NAMED_BY: Readonly<Record<string, string>> = {
  knowledge: 'key',
  learnings: 'key',
  facts: 'content',
  tasks: 'contextId',
  files: 'name',
  skills: 'name',
};
const ROW_PIXELS = 44;

const readPage = (kind: string, after: string) =>
  owner<Page>(`data/${encodeURIComponent(kind)}${after === '' ? '' : `?after=${encodeURIComponent(after)}`}`);

export function DataView() {
  const { value, fault } = useLoaded(
    async () => (await owner<{ kinds: readonly string[] }>('data')).kinds,
    [],
  );
  const secrets = useLoaded(async () => (await owner<{ secrets: readonly Secret[] }>('secrets')).secrets, []);
  const [note, setNote] = useState('');
  if (!value) return <Note>{fault || 'Loading your data…'}</Note>;
  const [, kind = value[0]!] = names();
  const act = async (words: string, work: () => Promise<unknown>) => {
    setNote(words);
    try {
      await work();
      setNote('Done.');
    } catch (error) {
      setNote((error as Error).message);
    }
  };
  return (
    <section>
      <h2>Kept data</h2>
      <nav class="tabs" aria-label="Kinds of data">
        {value.map((name) => (
          <a key={name} href={link('data', name)} aria-current={name === kind ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <Kind key={kind} kind={kind} />
      <h3>Names of secrets</h3>
      {secrets.value ? (
        <p class="text">
          {secrets.value.length === 0
            ? 'You have no secrets.'
            : `${secrets.value.map(({ name }) => name).join(', ')}. Their values never reach the browser.`}
        </p>
      ) : (
        <p>{secrets.fault || 'Loading…'}</p>
      )}
      <h3>All of it</h3>
      <p class="buttons">
        <button type="button" onClick={() => void act('Reading everything…', () => exportAll(value))}>
          Export
        </button>
        <TwoClicks
          label="Forget everything"
          confirm="Really forget everything except secrets and records of money"
          kind="danger"
          onConfirm={() => void act('Forgetting…', () => owner('data', 'DELETE'))}
        />
      </p>
      {note && <Note>{note}</Note>}
    </section>
  );
}

function Kind({ kind }: { readonly kind: string }) {
  const [items, setItems] = useState<readonly unknown[]>([]);
  const [next, setNext] = useState<string | undefined>('');
  const [chosen, setChosen] = useState<unknown>();
  const [note, setNote] = useState('Loading…');
  const more = async () => {
    if (next === undefined) return;
    try {
      const page = await readPage(kind, next);
      setItems((before) => [...before, ...page.items]);
      setNext(page.next);
      setNote(items.length + page.items.length === 0 ? 'You have no data of this kind.' : '');
    } catch (error) {
      setNote((error as Error).message);
    }
  };
  useEffect(() => void more(), []);
  const nameOf = (item: unknown) => (item as Record<string, unknown>)[NAMED_BY[kind] ?? ''];
  const forget = async (name: string) => {
    // The server forgets a conversation with all its tasks.
    const place = kind === 'tasks' ? 'contexts' : kind;
    try {
      await owner(`data/${encodeURIComponent(place)}?name=${encodeURIComponent(name)}`, 'DELETE');
      setItems((before) => before.filter((item) => nameOf(item) !== name));
      setChosen(undefined);
      setNote('Forgotten.');
    } catch (error) {
      setNote((error as Error).message);
    }
  };
  const name = chosen === undefined ? undefined : nameOf(chosen);
  return (
    <>
      {note && <Note>{note}</Note>}
      {items.length > 0 && (
        <Rows
          count={items.length}
          height={ROW_PIXELS}
          label={kind}
          row={(index) => (
            <button type="button" class="row event" onClick={() => setChosen(items[index])}>
              {visible(headline(kind, items[index] as Entry))
                .replace(/\s+/g, ' ')
                .slice(0, 160)}
            </button>
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

type Entry = Readonly<Record<string, unknown>>;
/** The members that say in words what an entry is about. */
const WORDS = ['key', 'name', 'subject', 'predicate', 'object', 'text', 'content'];

/** One line for people; the whole entry as JSON where no member has words. */
function headline(kind: string, entry: Entry): string {
  if (kind === 'tasks') return `${String(entry.agent)}: ${titleOf(entry as unknown as Task)}`;
  const words = new Set(WORDS.map((member) => entry[member]).filter((value) => typeof value === 'string'));
  return [...words].join(' · ') || exact(entry);
}

/** Saves everything that is kept as one file of JSON. */
async function exportAll(kinds: readonly string[]): Promise<void> {
  const all: Record<string, unknown[]> = {};
  for (const kind of kinds) {
    const items: unknown[] = [];
    for (let after: string | undefined = ''; after !== undefined;) {
      const page: Page = await readPage(kind, after);
      items.push(...page.items);
      after = page.next;
    }
    all[kind] = items;
  }
  const url = URL.createObjectURL(
    new Blob([JSON.stringify(all, undefined, 2)], { type: 'application/json' }),
  );
  const anchor = Object.assign(document.createElement('a'), { href: url, download: 'lango-data.json' });
  anchor.click();
  URL.revokeObjectURL(url);
}
