import { useEffect, useMemo, useState } from 'preact/hooks';
import { ask, listTasks, newId } from './api.js';
import { Conversation } from './conversation.js';
import { useFollowed } from './follow.js';
import { viewAt } from './fold.js';
import { agentsOf, node } from './node.js';
import { Choice, Form, link, names, Note, useAction, useLoaded } from './page.js';
import { Parts, sizeOf } from './parts.js';
import { Questions } from './questions.js';
import { hasEnded, stateWords, waits, type Message, type Part, type Task } from './wire.js';

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
  const [open, setOpen] = useState<Task>();
  const { value: earlier, fault } = useLoaded(() => tasksOf(agent, contextId), [agent, contextId]);
  const all = [...new Map([...(earlier ?? []), ...begun].map((task) => [task.id, task])).values()];
  const send = async (message: Message) => {
    const place = open && waits(open.status.state) ? { taskId: open.id } : {};
    const sent = { message: { ...message, contextId, ...place }, configuration: { returnImmediately: true } };
    const result = await ask<{ task?: Task; message?: Message }>(agent, 'SendMessage', sent);
    if (result.task) setBegun((before) => [...before, result.task!]);
    else if (result.message) setReplies((before) => [...before, result.message!]);
  };
  if (!earlier && !fault) return <Note>Loading the conversation…</Note>;
  return (
    <section class="chat">
      <h2>Chat</h2>
      <AgentChoice agent={agent} />
      {fault && <Note>{fault}</Note>}
      {all.length === 0 && <Note>Ask {agent} something. The output comes as it is written.</Note>}
      <div role="log" aria-label="Conversation">
        {all.map((task) => (
          <Turn key={task.id} agent={agent} id={task.id} onChange={setOpen} />
        ))}
        {replies.map(({ messageId, parts }) => (
          <article key={messageId} class="agent">
            <Parts parts={parts} />
          </article>
        ))}
      </div>
      <Composer onSend={send} />
    </section>
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

/** One task of the conversation, which streams while it works. */
function Turn({
  agent,
  id,
  onChange,
}: Readonly<{ agent: string; id: string; onChange: (task: Task) => void }>) {
  const { task, events, count, fault, isAway } = useFollowed(agent, id);
  const { note, act } = useAction();
  const total = count.value;
  const view = useMemo(() => task.value && viewAt(task.value, events, total), [task.value, total]);
  useEffect(() => {
    if (task.value && view) onChange({ ...task.value, status: view.status });
  }, [task.value, view?.status.state]);
  if (!task.value || !view) return <Note>{fault.value || 'Loading…'}</Note>;
  const { state } = view.status;
  const cancel = () => void act(() => ask(agent, 'CancelTask', { id }));
  return (
    <>
      <Conversation view={view} />
      <Questions agent={agent} task={{ ...task.value, status: view.status }} />
      <p class="facts">
        <a href={link('tasks', agent, id)}>{stateWords(state)}</a>{' '}
        {!hasEnded(state) && (
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        )}{' '}
        {isAway.value && 'The connection is lost. The output continues as soon as the server responds.'}{' '}
        {note}
      </p>
    </>
  );
}

/** A message on its way. Sending it again uses the same id, so that the server takes it once. */
type Draft = Readonly<{ message: Message; fault: string }>;

function Composer({ onSend }: Readonly<{ onSend: (message: Message) => Promise<void> }>) {
  const [text, setText] = useState('');
  const [files, setFiles] = useState<readonly File[]>([]);
  const [draft, setDraft] = useState<Draft>();
  const send = async (message: Message) => {
    setDraft({ message, fault: '' });
    try {
      await onSend(message);
      setDraft(undefined);
      setText('');
      setFiles([]);
    } catch (error) {
      setDraft({ message, fault: (error as Error).message });
    }
  };
  const compose = async () => {
    const parts = [...(text.trim() === '' ? [] : [{ text }]), ...(await Promise.all(files.map(toPart)))];
    if (parts.length > 0) await send({ messageId: newId(), role: 'ROLE_USER', parts });
  };
  const isBusy = draft?.fault === '';
  return (
    <Form class="composer" onSend={compose}>
      <label>
        Message
        <textarea
          rows={3}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            if (!isBusy) void compose();
          }}
        />
      </label>
      <div class="buttons">
        <label>
          Files{' '}
          <input
            type="file"
            multiple
            key={files.length === 0 ? 'none' : 'some'}
            onChange={({ currentTarget }) => setFiles([...(currentTarget.files ?? [])])}
          />
        </label>
        <button class="primary" disabled={isBusy}>
          {isBusy ? 'Sending…' : 'Send'}
        </button>
      </div>
      {files.length > 0 && <p>{files.map(({ name, size }) => `${name} (${sizeOf(size)})`).join(', ')}</p>}
      {draft && draft.fault !== '' && (
        <p role="alert">
          {draft.fault}{' '}
          <button type="button" onClick={() => void send(draft.message)}>
            Send it again
          </button>
        </p>
      )}
    </Form>
  );
}

function toPart(file: File): Promise<Part> {
  const reader = new FileReader();
  return new Promise((resolve, reject) => {
    reader.onerror = () => reject(new Error(`The file ${file.name} cannot be read.`));
    reader.onload = () => {
      const [, raw = ''] = (reader.result as string).split(',');
      resolve({ raw, filename: file.name, mediaType: file.type || 'application/octet-stream' });
    };
    reader.readAsDataURL(file);
  });
}
