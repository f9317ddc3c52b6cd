import { signal } from '@preact/signals';
import type { ComponentChildren, ComponentProps } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { duration } from '../../core/duration.js';

/** The place that the address names, as in `#/tasks/AGENT/ID`. */
export const place = signal(location.hash);
addEventListener('hashchange', () => (place.value = location.hash));

export const link = (...names: readonly string[]) => `#/${names.map(encodeURIComponent).join('/')}`;
export function names(): readonly string[] {
  const [path = ''] = place.value.replace(/^#\/?/, '').split('?');
  return path.split('/').filter(Boolean).map(decodeURIComponent);
}

/** Loads a value at once and, with `everyMs`, again and again while the page is visible. */
export function useLoaded<Value>(load: () => Promise<Value>, inputs: readonly unknown[], everyMs?: number) {
  const [value, setValue] = useState<Value>();
  const [fault, setFault] = useState('');
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async () => {
      try {
        if (round === 0 || !document.hidden) {
          const fresh = await load();
          if (isOver) return;
          setValue(() => fresh);
          setFault('');
        }
      } catch (error) {
        if (!isOver) setFault((error as Error).message);
      }
      if (everyMs !== undefined && !isOver) timer = setTimeout(() => void read(), everyMs);
    };
    void read();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [...inputs, round]);
  return { value, fault, reload: () => setRound((before) => before + 1) };
}

/** Runs what a person asks for. The note is `first`, then `begins`, then the words of the result, or the fault. */
export function useAction(first = '') {
  const [note, setNote] = useState(first);
  const act = async (work: () => Promise<unknown>, begins?: string) => {
    if (begins !== undefined) setNote(begins);
    try {
      const words = await work();
      if (typeof words === 'string') setNote(words);
    } catch (error) {
      setNote((error as Error).message);
    }
  };
  return { note, act };
}

export function Form({ onSend, children, ...others }: FormProps) {
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    void onSend(event.currentTarget as HTMLFormElement);
  };
  return <form {...{ ...others, onSubmit }}>{children}</form>;
}

type FormProps = Readonly<{
  class?: string;
  onSend: (form: HTMLFormElement) => unknown;
  children: ComponentChildren;
}>;

/** A button that sends no form. */
export const Button = (props: ComponentProps<'button'>) => <button type="button" {...props} />;

/** A field for one line, with its words before it. */
export function Field({ label, onText, ...others }: FieldProps) {
  return (
    <label>
      {label} <input {...others} onInput={({ currentTarget }) => onText?.(currentTarget.value)} />
    </label>
  );
}

type FieldProps = ComponentProps<'input'> & Readonly<{ label: string; onText?: (text: string) => void }>;

/** The text that a person wrote into a field of a form, by its name. */
export const writtenIn = (form: HTMLFormElement, name: string) => new FormData(form).get(name) as string;

export function Choice<Name extends string>(props: ChoiceProps<Name>) {
  const { label, value, names: offered, none, wordsOf = (name) => name, onChoose } = props;
  const options =
    offered instanceof Array ? offered.map((name) => [name, wordsOf(name)]) : Object.entries<string>(offered);
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value as Name)}>
        {none !== undefined && <option value="">{none}</option>}
        {options.map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

type ChoiceProps<Name extends string> = Readonly<{
  label: string;
  value: Name;
  names: readonly Name[] | Readonly<Record<Name, string>>; // A record has the words of each name.
  none?: string | undefined; // Offers the empty name too, with these words.
  wordsOf?: (name: Name) => string;
  onChoose: (name: Name) => void;
}>;

/** Says why nothing can be seen: it loads, it failed, or there is nothing. */
export function Note({ children }: Readonly<{ children: ComponentChildren }>) {
  return (
    <p class="note" role="status">
      {children}
    </p>
  );
}

type Cells = readonly ComponentChildren[];

interface TableProps {
  readonly caption: string;
  readonly heads: readonly string[];
  readonly rows: readonly Cells[]; // The first cell of a row is its name.
  readonly foot?: Cells;
  readonly texts?: Iterable<number>; // The columns that hold no figures. Default: the first one.
}

/** A table that scrolls by itself when it is wider than the page. On a narrow page each row is a card with named cells. */
export function Table({ caption, heads, rows, foot, texts = [0] }: TableProps) {
  const textual = new Set(texts);
  const row = ([name, ...cells]: Cells, key?: number) => (
    <tr key={key}>
      <th scope="row">{name}</th>
      {cells.map((cell, index) => (
        <td key={index} class={textual.has(index + 1) ? '' : 'number'} data-name={heads[index + 1]}>
          {cell}
        </td>
      ))}
    </tr>
  );
  return (
    <div class="table" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{rows.map(row)}</tbody>
        {foot && <tfoot>{row(foot)}</tfoot>}
      </table>
    </div>
  );
}

type TwoClicksProps = Readonly<{ label: string; confirm: string; kind?: string; onConfirm: () => unknown }>;

/** A button that asks once more before it acts, and forgets the first click after some seconds. */
export function TwoClicks({ label, confirm, kind = '', onConfirm }: TwoClicksProps) {
  const [isArmed, setArmed] = useState(false);
  useEffect(() => {
    if (!isArmed) return undefined;
    const timer = setTimeout(() => setArmed(false), 6_000);
    return () => clearTimeout(timer);
  }, [isArmed]);
  return (
    <Button
      class={`${kind} ${isArmed ? 'armed' : ''}`}
      onClick={() => {
        if (isArmed) onConfirm();
        setArmed(!isArmed);
      }}
    >
      <span aria-live="polite">{isArmed ? confirm : label}</span>
    </Button>
  );
}

interface RowsProps {
  readonly count: number;
  readonly height: number; // The height of a row in pixels.
  readonly label: string;
  readonly row: (index: number) => ComponentChildren;
  readonly onEnd?: () => void; // Called when the last row comes near.
}

const SPARE_ROWS = 6;

/** A list of any length: only the rows in sight are in the page. */
export function Rows({ count, height, label, row, onEnd }: RowsProps) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(600);
  useEffect(() => {
    const observer = new ResizeObserver(() => setRoom(box.current?.clientHeight ?? 600));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / height) - SPARE_ROWS);
  const last = Math.min(count, Math.ceil((top + room) / height) + SPARE_ROWS);
  useEffect(() => {
    if (last === count) onEnd?.();
  }, [last, count]);
  return (
    <div class="rows" ref={box} tabIndex={0} onScroll={() => setTop(box.current!.scrollTop)}>
      <ul aria-label={label} style={{ height: `${count * height}px` }}>
        {Array.from({ length: last - first }, (_, offset) => first + offset).map((index) => (
          <li
            key={index}
            aria-setsize={count}
            aria-posinset={index + 1}
            style={{ height: `${height}px`, transform: `translateY(${index * height}px)` }}
          >
            {row(index)}
          </li>
        ))}
      </ul>
    </div>
  );
}

const WORDED = { dateStyle: 'medium', timeStyle: 'medium' } as const;

/** A date and a time in the reader's zone. The month is a word: 11/7 is also read as the 11th of July. */
export const dateTime = (at: string | number) => new Date(at).toLocaleString(undefined, WORDED);

const RELATIVE = new Intl.RelativeTimeFormat(undefined, { style: 'narrow' });
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A time in the reader's zone, short; the whole time is its title. */
export function Ago({ at }: { readonly at: string | undefined }) {
  if (at === undefined) return null;
  const seconds = Math.round((Date.parse(at) - Date.now()) / 1_000);
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS[3];
  return (
    <time dateTime={at} title={dateTime(at)}>
      {RELATIVE.format(Math.round(seconds / size), unit)}
    </time>
  );
}

export const number = (value: number) => value.toLocaleString();
export const short = (value: number) => value.toLocaleString(undefined, { notation: 'compact' });
/** A time of milliseconds in words; a dash while it is unknown. */
export const timeOf = (ms: number | undefined) => (ms === undefined ? '–' : duration(ms));

export const counted = (count: number, word: string) => `${number(count)} ${word}${count === 1 ? '' : 's'}`;
/** A number of failures. */
export const Failures = ({ count }: Readonly<{ count: number }>) => (
  <span class={count > 0 ? 'failed' : ''}>{number(count)}</span>
);

/** Sums of money by currency. A row without cost has no price. */
export function money(rows: readonly { readonly cost?: number; readonly currency: string }[]): string {
  const priced = rows.filter(({ cost }) => cost !== undefined);
  const sums = [...Map.groupBy(priced, ({ currency }) => currency)].map(([currency, costs]) => {
    const sum = costs.reduce((total, { cost = 0 }) => total + cost, 0);
    return `${sum.toLocaleString(undefined, { maximumSignificantDigits: 3 })} ${currency}`;
  });
  return sums.join(', ');
}

/** Has the browser save a text as a file. */
export function saveFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}
