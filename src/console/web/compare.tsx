import { useState } from 'preact/hooks';
import type { ComparedEvent, Comparison } from '../../core/fork.js';
import { listTasks, owner } from './api.js';
import { Icon } from './icons.js';
import { Ago, Choice, dateTime, Field, link, Note, useLoaded } from './page.js';
import { visible } from './parts.js';
import { LISTED_MESSAGES, titleOf } from './tasks.js';
import { forkIn, stateWords, type Task } from './wire.js';

/** The characters of the id of a task. */
const ID_CHARACTERS = 36;
const MOST_CHOICES = 30;
const CHOICE_CHARACTERS = 60;

/** The newest other tasks of the agent, those that were asked the same first. */
async function choicesFor(agent: string, task: Task): Promise<readonly Task[]> {
  const { tasks } = await listTasks(agent, { historyLength: LISTED_MESSAGES });
  const others = tasks.filter(({ id }) => id !== task.id);
  const isAlike = (one: Task) => Number(titleOf(one) === titleOf(task));
  return others.toSorted((a, b) => isAlike(b) - isAlike(a)).slice(0, MOST_CHOICES);
}

/** Two tasks side by side, from the first event at which they part. */
export function Compare({ agent, task }: Readonly<{ agent: string; task: Task }>) {
  const [written, setWritten] = useState<string>();
  const { value: choices = [] } = useLoaded(() => choicesFor(agent, task), [agent, task.id]);
  const [alike] = choices.filter((one) => titleOf(one) === titleOf(task));
  const other = (written ?? forkIn(task)?.taskId ?? alike?.id ?? '').trim();
  const isWhole = other.length === ID_CHARACTERS;
  const load = async () => {
    if (!isWhole) return undefined;
    const path = `tasks/${encodeURIComponent(other)}/comparison?with=${encodeURIComponent(task.id)}`;
    return owner<Comparison>(path);
  };
  const { value, fault } = useLoaded(load, [task.id, isWhole && other, task.status.state]);
  const known = choices.find(({ id }) => id === other);
  return (
    <section aria-label="Comparison">
      <div class="filters">
        <Choice
          label="With another task"
          value={known?.id ?? ''}
          names={Object.fromEntries(choices.map((one) => [one.id, choiceWords(one)]))}
          none="choose one"
          onChoose={setWritten}
        />
        <Field label="Compare with the task (id)" size={ID_CHARACTERS} value={other} onText={setWritten} />
      </div>
      {!isWhole && <Note>Choose another task, or write the id of one: the page of each task shows it.</Note>}
      {isWhole && !value && <Note>{fault || 'Comparing the tasks…'}</Note>}
      {isWhole && value && fault && <Note>{fault}</Note>}
      {isWhole && value?.isSame && <p>Both did the same.</p>}
      {isWhole && value && !value.isSame && (
        <div class="columns">
          <Side title="The other task" href={link('tasks', agent, other)} task={known} events={value.a} />
          <Side title="This task" href={link('tasks', agent, task.id)} task={task} events={value.b} />
        </div>
      )}
    </section>
  );
}

function choiceWords(task: Task): string {
  const { state, timestamp } = task.status;
  const time = timestamp === undefined ? '' : dateTime(timestamp);
  return visible(`${titleOf(task).slice(0, CHOICE_CHARACTERS)} – ${stateWords(state)}, ${time}`);
}

type SideProps = Readonly<{
  title: string;
  href: string;
  task: Task | undefined;
  events: readonly ComparedEvent[];
}>;

function Side({ title, href, task, events }: SideProps) {
  return (
    <section class="panel">
      <h3>
        <a href={href}>{title}</a>{' '}
        <small>
          <Ago at={task?.status.timestamp} />
        </small>
      </h3>
      {events.length === 0 && <p>It did nothing more.</p>}
      <ol class="deeds">
        {events.map((event, index) => (
          <li key={event.seq} class={index === 0 ? 'first' : ''}>
            <b>
              {event.seq} {visible(event.type)}
            </b>{' '}
            <small>
              {visible(event.author)}
              {index === 0 && (
                <>
                  {' '}
                  · <Icon name="failed" /> the tasks part here
                </>
              )}
            </small>
            <Deed event={event} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Shows a message as text, and any other event as it was recorded. */
function Deed({ event: { text } }: Readonly<{ event: ComparedEvent }>) {
  const said = saidIn(text);
  return said === undefined ? <code>{visible(text)}</code> : <p class="said">{visible(said)}</p>;
}

interface Said {
  readonly content?: readonly { readonly type?: string; readonly text?: string }[];
  readonly message?: { readonly parts?: readonly { readonly kind?: string; readonly text?: string }[] };
}

/** The text of an event that holds nothing but text. A long event is cut, so that it is no JSON. */
function saidIn(json: string): string | undefined {
  let said: Said;
  try {
    said = JSON.parse(json) as Said;
  } catch {
    return undefined;
  }
  const parts = said.content ?? said.message?.parts ?? [];
  const texts = parts.map(({ text }) => text);
  return texts.length > 0 && texts.every((text) => typeof text === 'string') ? texts.join('\n') : undefined;
}
