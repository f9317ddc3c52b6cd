import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { duration } from '../../core/duration.js';
import { repliesIn, isReply, questionsIn } from '../../core/questions.js';
import type { Item, View } from './fold.js';
import { Icon } from './icons.js';
import { Button } from './page.js';
import { Copy, Json, Parts, visible } from './parts.js';
import { GivenReply } from './questions.js';
import { hasEnded, stateWords, textOf, type Part } from './wire.js';

/** The newest items that are shown at once. To draw thousands of them takes too long. */
const SHOWN_ITEMS = 200;

type OnEdit = ((words: string) => void) | undefined;
type ConversationProps = Readonly<{ view: View; onEdit?: OnEdit }>;

/** A task as people read it: what was said, done and made, in its order. */
export function Conversation({ view: { items, status }, onEdit }: ConversationProps) {
  const [room, setRoom] = useState(SHOWN_ITEMS);
  const hidden = Math.max(0, items.length - room);
  return (
    <div class="conversation">
      {hidden > 0 && (
        <Button onClick={() => setRoom(room + 5 * SHOWN_ITEMS)}>Show earlier ones, {hidden} in all</Button>
      )}
      {items.slice(hidden).map((item) => (
        <ItemView key={item.key} item={item} isOpen={!hasEnded(status.state)} onEdit={onEdit} />
      ))}
    </div>
  );
}

function ItemView({ item, isOpen, onEdit }: Readonly<{ item: Item; isOpen: boolean; onEdit: OnEdit }>) {
  switch (item.kind) {
    case 'user':
      return <Said parts={item.parts} onEdit={onEdit} />;
    case 'text':
    case 'artifact':
      return (
        <article class="agent" aria-label={item.author}>
          <p class="author">
            {item.author}
            {item.kind === 'artifact' && item.name !== 'answer' && `: ${visible(item.name)}`}
          </p>
          {/* Open questions are shown as such below the conversation, decided ones with their decisions. */}
          <Parts parts={item.parts.filter((part) => questionsIn([part]).length === 0)} />
          {textOf(item.parts) !== '' && (
            <p class="tools">
              <Copy text={textOf(item.parts)} />
            </p>
          )}
        </article>
      );
    case 'thinking':
      return (
        <Step summary={`${item.author} thought`} inside={() => <p class="text">{visible(item.text)}</p>} />
      );
    case 'tool': {
      const { tool, result, arguments: given } = item;
      const end = result ? (result.isError ? ': failed' : ': done') : isOpen ? '…' : ': no result';
      return (
        <Step
          isFailed={result?.isError}
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

/** A message of a person. */
function Said({ parts, onEdit }: Readonly<{ parts: readonly Part[]; onEdit: OnEdit }>) {
  const replies = repliesIn(parts).filter(isReply);
  const text = replies.length === 0 ? textOf(parts) : '';
  return (
    <article class="user" aria-label="You">
      <p class="author">You</p>
      {replies.map((reply) => (
        <p key={reply.hash}>
          <GivenReply reply={reply} />
        </p>
      ))}
      {replies.length === 0 && <Parts parts={parts} />}
      {text !== '' && onEdit && (
        <p class="tools">
          <Button class="quiet" onClick={() => onEdit(text)}>
            <Icon name="edit" /> Edit and send again
          </Button>
        </p>
      )}
    </article>
  );
}

interface StepProps {
  readonly summary: ComponentChildren;
  readonly isFailed?: boolean | undefined;
  readonly inside: () => ComponentChildren;
}

/** A line that opens. Its inside is made when a person opens it, because a task may have thousands of them. */
function Step({ summary, isFailed, inside }: StepProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      class={isFailed ? 'step failed' : 'step'}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>{summary}</summary>
      {isOpen && inside()}
    </details>
  );
}
