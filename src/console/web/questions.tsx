import { useEffect, useState } from 'preact/hooks';
import { EXTENSIONS } from '../../core/extensions.js';
import { repliesIn, isReply, questionsIn } from '../../core/questions.js';
import type { Reply, Question } from '../../core/task.js';
import { ask, newId, viewed } from './api.js';
import { dateTime, Field, Form, Note, TwoClicks, writtenIn } from './page.js';
import { Json, Text } from './parts.js';
import { questionsOf, type Task } from './wire.js';

/** A task that may wait for a person. */
type WaitingTask = Pick<Task, 'id' | 'contextId' | 'status'>;

/** Resolves once the server has stored the reply. */
async function send(agent: string, { id, contextId }: WaitingTask, reply: Reply): Promise<void> {
  const part = { data: { answer: reply }, mediaType: 'application/json' };
  const place = { messageId: newId(), taskId: id, contextId };
  const message = { ...place, role: 'ROLE_USER', extensions: [EXTENSIONS.approval], parts: [part] };
  await ask(agent, 'SendMessage', { message, configuration: { returnImmediately: true } });
}

type QuestionsProps = Readonly<{ agent: string; task: WaitingTask; onReply?: () => void }>;

/** The questions of a task to a person, with the exact calls. Calls `onReply` once a reply was stored. */
export function Questions({ agent, task, onReply }: QuestionsProps) {
  const [notes, setNotes] = useState<Readonly<Record<string, string>>>({});
  const decide = async (reply: Reply) => {
    const say = (words: string) => setNotes((before) => ({ ...before, [reply.hash]: words }));
    try {
      say('Sending…');
      await send(agent, task, reply);
      say(reply.decision === 'approve' ? 'Replied.' : 'Denied.');
      onReply?.();
    } catch (error) {
      say((error as Error).message);
    }
  };
  return (
    <>
      {questionsOf(task).map((question) => (
        <article key={question.hash} class="question" aria-label={`Question of ${question.author}`}>
          <Asked question={question} />
          {question.kind === 'input' ? (
            <ReplyForm question={question} onReply={(reply) => void decide(reply)} />
          ) : (
            <Decision question={question} onReply={(reply) => void decide(reply)} />
          )}
          {notes[question.hash] && <Note>{notes[question.hash]}</Note>}
        </article>
      ))}
    </>
  );
}

function Asked({ question }: Readonly<{ question: Question }>) {
  const { author, text, tool, arguments: given, expiresAt } = question;
  return (
    <>
      <p class="author">{author} asks</p>
      <Text text={text} />
      {tool !== undefined && (
        <>
          <p>
            <code>{tool}</code> with exactly these arguments:
          </p>
          <Json value={given} label={`Arguments of ${tool}`} />
        </>
      )}
      {expiresAt !== undefined && <Countdown at={expiresAt} />}
    </>
  );
}

function Countdown({ at }: { readonly at: number }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.round((at - now) / 1_000));
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const left = `${two(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`;
  return (
    <p>
      Without a reply it counts as denied in <span class="number">{left}</span>, at {dateTime(at)}.
    </p>
  );
}

type ReplyProps = Readonly<{ question: Question; onReply: (reply: Reply) => void }>;

function Decision({ question: { hash, tool = 'it' }, onReply }: ReplyProps) {
  const [reason, setReason] = useState('');
  const why = reason.trim() === '' ? {} : { text: reason };
  return (
    <>
      <p class="buttons">
        <TwoClicks
          label="Approve"
          confirm={`Really approve ${tool}`}
          kind="primary"
          onConfirm={() => onReply({ hash, decision: 'approve' })}
        />
        <TwoClicks
          label="Deny"
          confirm={`Really deny ${tool}`}
          kind="danger"
          onConfirm={() => onReply({ hash, decision: 'deny', ...why })}
        />
      </p>
      <Field
        label="Reason of a denial, which the agent is told (optional)"
        value={reason}
        onText={setReason}
      />
    </>
  );
}

/** Some questions have several fields, each with a line of the reply. */
const ROWS = 3;

function ReplyForm({ question: { hash }, onReply }: ReplyProps) {
  return (
    <Form onSend={(form) => onReply({ hash, decision: 'approve', text: writtenIn(form, 'reply') })}>
      <label>
        Your reply <textarea name="reply" required rows={ROWS} />
      </label>
      <button class="primary">Reply</button>
    </Form>
  );
}

/** The earlier decisions in a task, oldest first. The owner of a task is the only one who can decide in it. */
export function Decisions({ task: { history = [] } }: Readonly<{ task: Task }>) {
  const questions = history.flatMap(({ parts }) => questionsIn(parts));
  const asked = new Map(questions.map((question) => [question.hash, question]));
  const replies = history.flatMap(({ parts }) => repliesIn(parts)).filter(isReply);
  if (replies.length === 0) return <p>Nothing was decided in this task before.</p>;
  return (
    <ul class="plain">
      {replies.map((reply) => (
        <li key={reply.hash}>
          <GivenReply reply={reply} question={asked.get(reply.hash)} />
        </li>
      ))}
    </ul>
  );
}

type GivenReplyProps = Readonly<{ reply: Reply; question?: Question | undefined }>;

export function GivenReply({ reply: { decision, text }, question }: GivenReplyProps) {
  const what = question?.tool ?? question?.text ?? 'the call';
  const isInput = question?.kind === 'input';
  const who = viewed.value?.owner ?? 'You';
  return (
    <>
      {isInput ? `${who} replied` : `${who} ${decision === 'approve' ? 'approved' : 'denied'} ${what}`}
      {text !== undefined && `: ${text}`}
      {question?.tool !== undefined && (
        <details>
          <summary>Arguments</summary>
          <Json value={question.arguments} label={`Arguments of ${question.tool}`} />
        </details>
      )}
    </>
  );
}
