import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { answersIn, isAnswer, questionsIn } from '../../core/questions.js';
import type { Item, View } from './fold.js';
import { duration } from './page.js';
import { Json, Parts, visible } from './parts.js';
import { Given } from './questions.js';
import { hasEnded, stateWords } from './wire.js';

/** The newest items that are shown at once: thousands of them take a page too long. */
const SHOWN_ITEMS = 200;

/** A task as people read it: what was said, done and made, in its order. */
export function Conversation({ view: { items, status } }: { readonly view: View }) {
  const [room, setRoom] = useState(SHOWN_ITEMS);
  const hidden = Math.max(0, items.length - room);
  return (
    <div class="conversation">
      {hidden > 0 && (
        <button type="button" onClick={() => setRoom(room + 5 * SHOWN_ITEMS)}>
          Show earlier ones, {hidden} in all
        </button>
      )}
      {items.slice(hidden).map((item) => (
        <ItemView key={item.key} item={item} isOpen={!hasEnded(status.state)} />
      ))}
    </div>
  );
}

function ItemView({ item, isOpen }: { readonly item: Item; readonly isOpen: boolean }) {
  switch (item.kind) {
    case 'user': {
      const answers = answersIn(item.parts).filter(isAnswer);
      return (
        <article class="user" aria-label="You">
          <p class="author">You</p>
          {answers.map((answer) => (
            <p key={answer.hash}>
              <Given answer={answer} />
            </p>
          ))}
          {answers.length === 0 && <Parts parts={item.parts} />}
        </article>
      );
    }
    case 'text':
    case 'artifact':
      return (
        <article class="agent" aria-label={item.author}>
          <p class="author">
            {item.author}
            {item.kind === 'artifact' && item.name !== 'answer' && `: ${item.name}`}
          </p>
          {/* Open questions are shown as such below the conversation, decided ones with their decisions. */}
          <Parts parts={item.parts.filter((part) => questionsIn([part]).length === 0)} />
        </article>
      );
    case 'tool': {
      const { tool, result, arguments: given } = item;
      const end = result ? (result.isError ? ': failed' : ': done') : isOpen ? '…' : ': no result';
      return (
        <Step
          kind={result?.isError ? 'step failed' : 'step'}
          summary={
            <>
              {item.author} calls <code>{tool}</code>
              {end}
            </>
          }
          inside={() => (
            <>
              <Json value={given} label={`Arguments of ${tool}`} />
              {result && (
                <pre class="text" tabIndex={0}>
                  {visible(result.text)}
                </pre>
              )}
            </>
          )}
        />
      );
    }
    case 'delegation': {
      const { agent, state, startedAt, endedAt, request, reason } = item;
      const time = endedAt === undefined ? '' : `, ${duration(endedAt - startedAt)}`;
      return (
        <Step
          kind="step"
          summary={`${item.author} asks ${agent}${state === undefined ? '…' : `: ${stateWords(state)}`}${time}`}
          inside={() => (
            <>
              <p class="text">{visible(request)}</p>
              {reason !== undefined && <p class="text">{visible(reason)}</p>}
            </>
          )}
        />
      );
    }
  }
}

interface StepProps {
  readonly kind: string;
  readonly summary: ComponentChildren;
  readonly inside: () => ComponentChildren;
}

/** A line that opens. What is inside is made when it is opened: a task may have thousands of them. */
function Step({ kind, summary, inside }: StepProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class={kind} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && inside()}
    </details>
  );
}
