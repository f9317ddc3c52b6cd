import { useEffect, useMemo, useState } from 'preact/hooks';
import { ask, listTasks, newId } from './api.js';
import { addFiles, Composer, draftOf, write, type Draft } from './composer.js';
import { Conversation } from './conversation.js';
import { useFollowed } from './follow.js';
import { useFollowing } from './following.js';
import { viewAt } from './fold.js';
import { agentsOf, node, readCard } from './node.js';
import { Button, Choice, link, names, Note, useAction, useLoaded } from './page.js';
import { Parts, visible } from './parts.js';
import { Questions } from './questions.js';
import { State } from './tasks.js';
import { hasEnded, waits, type Message, type Task } from './wire.js';

/** A chat is one context of an agent; its address names both, so that it can be opened again. */
export function ChatView() {
  const [, agent = node.value?.root, contextId] = names();
  if (agent === undefined) return <Note>Loading the agents…</Note>;
  return contextId === undefined ? (
    <NewChat agent={agent} />
  ) : (
    <Chat key={`${agent} ${contextId}`} {...{ agent, contextId }} />
  );
}

function NewChat({ agent }: Readonly<{ agent: string }>) {
  useEffect(() => location.replace(link('chat', agent, newId())), [agent]);
  return null;
}

function Chat({ agent, contextId }: Readonly<{ agent: string; contextId: string }>) {
  const [begun, setBegun] = useState<readonly Task[]>([]);
  const [replies, setReplies] = useState<readonly Message[]>([]);
  const [present, setPresent] = useState<Readonly<Record<string, Task>>>({});
  const draft = useMemo(() => draftOf(contextId), [contextId]);
  const { box, follows, toEnd } = useFollowing();
  const { note, act } = useAction();
  const { value: earlier, fault } = useLoaded(() => tasksOf(agent, contextId), [agent, contextId]);
  const all = [...new Map([...(earlier ?? []), ...begun].map((task) => [task.id, task])).values()];
  const open = Object.values(present).filter(({ status }) => !hasEnded(status.state));
  const waiting = open.findLast(({ status }) => waits(status.state));
  const running = open.filter(({ status }) => !waits(status.state));
  const send = async (message: Message) => {
    const place = waiting ? { taskId: waiting.id } : {};
    const sent = { message: { ...message, contextId, ...place }, configuration: { returnImmediately: true } };
    const result = await ask<{ task?: Task; message?: Message }>(agent, 'SendMessage', sent);
    if (result.task) setBegun((before) => [...before, result.task!]);
    else if (result.message) setReplies((before) => [...before, result.message!]);
    toEnd();
  };
  const stop = () => void act(() => Promise.all(running.map(({ id }) => ask(agent, 'CancelTask', { id }))));
  const isEmpty = earlier !== undefined && all.length === 0 && replies.length === 0;
  return (
    <section class="chat" {...dropsInto(draft)}>
      <header>
        <h2>Chat</h2>
        <AgentChoice agent={agent} />
      </header>
      {!earlier && <Note>{fault || 'Loading the conversation…'}</Note>}
      {isEmpty && <Suggestions agent={agent} draft={draft} />}
      <div role="log" aria-label="Conversation" ref={box}>
        {all.map((task) => (
          <Turn
            key={task.id}
            agent={agent}
            id={task.id}
            onEdit={(words) => write(draft, words)}
            onChange={(now) => setPresent((before) => ({ ...before, [now.id]: now }))}
          />
        ))}
        {replies.map(({ messageId, parts }) => (
          <article key={messageId} class="agent">
            <Parts parts={parts} />
          </article>
        ))}
      </div>
      <div class="dock">
        {!follows && (
          <Button class="newest" onClick={toEnd}>
            ↓ To the newest
          </Button>
        )}
        {note && <Note>{note}</Note>}
        <Composer draft={draft} onSend={send} onStop={running.length > 0 ? stop : undefined} />
      </div>
    </section>
  );
}

/** Files that are dropped anywhere on the chat are attached. */
function dropsInto(draft: Draft) {
  const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') === true;
  return {
    onDragOver: (event: DragEvent) => {
      if (hasFiles(event)) event.preventDefault();
    },
    onDrop: (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      addFiles(draft, event.dataTransfer?.files);
    },
  };
}

const SUGGESTIONS_SHOWN = 6;

/** The examples on the agent's card. */
function Suggestions({ agent, draft }: Readonly<{ agent: string; draft: Draft }>) {
  const { value } = useLoaded(() => readCard(agent), [agent]);
  const examples = value?.card.skills?.flatMap(({ examples = [] }) => examples) ?? [];
  return (
    <>
      <Note>Ask {agent} something. The output comes as it is written.</Note>
      <div class="suggestions">
        {[...new Set(examples)].slice(0, SUGGESTIONS_SHOWN).map((words) => (
          <Button key={words} onClick={() => write(draft, words)}>
            {visible(words)}
          </Button>
        ))}
      </div>
    </>
  );
}

/** The tasks of a conversation, oldest first. */
async function tasksOf(agent: string, contextId: string): Promise<readonly Task[]> {
  const { tasks } = await listTasks(agent, { contextId });
  return tasks.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function AgentChoice({ agent }: Readonly<{ agent: string }>) {
  const choices = node.value ? agentsOf(node.value) : [agent];
  const choose = (name: string) => (location.hash = link('chat', name, newId()));
  return (
    <div class="filters">
      <Choice label="Agent" value={agent} names={choices} onChoose={choose} />
      <a href={link('chat', agent, newId())}>New chat</a>
    </div>
  );
}

interface TurnProps {
  readonly agent: string;
  readonly id: string;
  readonly onEdit: (words: string) => void;
  readonly onChange: (task: Task) => void;
}

/** One task of the conversation, which streams while it works. */
function Turn({ agent, id, onEdit, onChange }: TurnProps) {
  const { task, events, count, fault, isAway } = useFollowed(agent, id);
  const total = count.value;
  const view = useMemo(() => task.value && viewAt(task.value, events, total), [task.value, total]);
  useEffect(() => {
    if (task.value && view) onChange({ ...task.value, status: view.status });
  }, [task.value, view?.status.state]);
  if (!task.value || !view) return <Note>{fault.value || 'Loading…'}</Note>;
  const { state } = view.status;
  return (
    <>
      <Conversation view={view} onEdit={onEdit} />
      <Questions agent={agent} task={{ ...task.value, status: view.status }} />
      <p class="facts">
        <a class="bare" href={link('tasks', agent, id)}>
          <State state={state} />, <u>see how</u>
        </a>{' '}
        {isAway.value && 'The connection is lost. The output continues as soon as the server responds.'}
      </p>
    </>
  );
}
