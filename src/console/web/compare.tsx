import { useState } from 'preact/hooks';
import type { ComparedEvent, Divergence } from '../../core/fork.js';
import { owner } from './api.js';
import { Field, link, Note, useLoaded } from './page.js';
import { visible } from './parts.js';
import { forkIn, type Task } from './wire.js';

/** The characters of the id of a task. */
const ID_CHARACTERS = 36;

interface CompareProps {
  readonly agent: string;
  readonly task: Task;
}

/** Two tasks side by side, from the first event at which they part. */
export function Compare({ agent, task }: CompareProps) {
  const [written, setWritten] = useState(forkIn(task)?.taskId ?? '');
  const other = written.trim();
  const isWhole = other.length === ID_CHARACTERS;
  const { value, fault } = useLoaded(
    async () =>
      isWhole
        ? owner<Divergence>(
            `tasks/${encodeURIComponent(other)}/comparison?with=${encodeURIComponent(task.id)}`,
          )
        : undefined,
    [task.id, isWhole && other, task.status.state],
  );
  return (
    <section aria-label="Comparison">
      <div class="filters">
        <Field label="Compare with the task (id)" size={ID_CHARACTERS} value={written} onText={setWritten} />
      </div>
      {!isWhole && <Note>Write the id of another task of yours. The page of each task shows it.</Note>}
      {isWhole && !value && <Note>{fault || 'Comparing the tasks…'}</Note>}
      {isWhole && value && fault && <Note>{fault}</Note>}
      {isWhole && value?.isSame && <p>Both did the same.</p>}
      {isWhole && value && !value.isSame && (
        <div class="columns">
          <Side title="The other task" href={link('tasks', agent, other)} events={value.a} />
          <Side title="This task" href={link('tasks', agent, task.id)} events={value.b} />
        </div>
      )}
    </section>
  );
}

type SideProps = Readonly<{ title: string; href: string; events: readonly ComparedEvent[] }>;

function Side({ title, href, events }: SideProps) {
  return (
    <section class="panel">
      <h3>
        <a href={href}>{title}</a>
      </h3>
      {events.length === 0 && <p>It did nothing more.</p>}
      <ol class="deeds">
        {events.map(({ seq, author, type, text }, index) => (
          <li key={seq} class={index === 0 ? 'first' : ''}>
            <b>
              {seq} {visible(type)}
            </b>{' '}
            <small>
              {visible(author)}
              {index === 0 && ' · ✕ the tasks part here'}
            </small>
            <code>{visible(text)}</code>
          </li>
        ))}
      </ol>
    </section>
  );
}
