import { useEffect, useState } from 'preact/hooks';
import { EXTENSIONS } from '../../core/extensions.js';
import { answersIn, isAnswer, questionsIn } from '../../core/questions.js';
import type { Answer, Question } from '../../core/task.js';
import { ask, newId, viewed } from './api.js';
import { Note, TwoClicks } from './page.js';
import { Json, Text } from './parts.js';
import { questionsOf, type Task } from './wire.js';

type Waiting = Pick<Task, 'id' | 'contextId' | 'status'>;

/** Answers a question of a task. Resolves once the server has stored the answer. */
async function send(agent: string, { id, contextId }: Waiting, answer: Answer): Promise<void> {
  const part = { data: { answer }, mediaType: 'application/json' };
  const place = { messageId: newId(), taskId: id, contextId };
  const message = { ...place, role: 'ROLE_USER', extensions: [EXTENSIONS.approval], parts: [part] };
  await ask(agent, 'SendMessage', { message, configuration: { returnImmediately: true } });
}

interface QuestionsProps {
  readonly agent: string;
  readonly task: Waiting;
  /** Called once an answer was stored. */
  readonly onAnswer?: () => void;
}

/** The questions of a task to a person, with the exact calls. */
export function Questions({ agent, task, onAnswer }: QuestionsProps) {
  const [answered, setAnswered] = useState<Readonly<Record<string, string>>>({});
  const say = (hash: string, words: string) => setAnswered((before) => ({ ...before, [hash]: words }));
  const decide = async (answer: Answer) => {
    try {
      say(answer.hash, 'Sending…');
      await send(agent, task, answer);
      say(answer.hash, answer.decision === 'approve' ? 'Answered.' : 'Denied.');
      onAnswer?.();
    } catch (error) {
      say(answer.hash, (error as Error).message);
    }
  };
  return (
    <>
      {questionsOf(task).map((question) => (
        <article key={question.hash} class="question" aria-label={`Question of ${question.author}`}>
          <Asked question={question} />
          {question.kind === 'input' ? (
            <Reply question={question} onAnswer={(answer) => void decide(answer)} />
          ) : (
            <Decision question={question} onAnswer={(answer) => void decide(answer)} />
          )}
          {answered[question.hash] && <Note>{answered[question.hash]}</Note>}
        </article>
      ))}
    </>
  );
}

function Asked({ question }: { readonly question: Question }) {
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
      Without an answer it counts as denied in <span class="number">{left}</span>, at{' '}
      {new Date(at).toLocaleString()}.
    </p>
  );
}

interface AnswerProps {
  readonly question: Question;
  readonly onAnswer: (answer: Answer) => void;
}

function Decision({ question: { hash, tool = 'it' }, onAnswer }: AnswerProps) {
  const [reason, setReason] = useState('');
  const why = reason.trim() === '' ? {} : { text: reason };
  return (
    <>
      <p class="buttons">
        <TwoClicks
          label="Approve"
          confirm={`Really approve ${tool}`}
          kind="primary"
          onConfirm={() => onAnswer({ hash, decision: 'approve' })}
        />
        <TwoClicks
          label="Deny"
          confirm={`Really deny ${tool}`}
          kind="danger"
          onConfirm={() => onAnswer({ hash, decision: 'deny', ...why })}
        />
      </p>
      <label>
        Reason of a denial, which the agent is told (optional){' '}
        <input value={reason} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
      </label>
    </>
  );
}

/** Some questions have several fields, each answered by a line of its own. */
const ROWS = 3;

function Reply({ question: { hash }, onAnswer }: AnswerProps) {
  const [text, setText] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer({ hash, decision: 'approve', text });
      }}
    >
      <label>
        Your answer{' '}
        <textarea
          required
          rows={ROWS}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <button class="primary">Answer</button>
    </form>
  );
}

/** The earlier decisions in a task, oldest first. The owner of a task is the only one who can decide in it. */
export function Decisions({ task: { history = [] } }: { readonly task: Task }) {
  const asked = new Map(
    history.flatMap(({ parts }) => questionsIn(parts)).map((question) => [question.hash, question]),
  );
  const answers = history.flatMap(({ parts }) => answersIn(parts)).filter(isAnswer);
  if (answers.length === 0) return <p>Nothing was decided in this task before.</p>;
  return (
    <ul class="plain">
      {answers.map((answer) => (
        <li key={answer.hash}>
          <Given answer={answer} question={asked.get(answer.hash)} />
        </li>
      ))}
    </ul>
  );
}

interface GivenProps {
  readonly answer: Answer;
  readonly question?: Question | undefined;
}

/** An answer, as it was given. */
export function Given({ answer: { decision, text }, question }: GivenProps) {
  const what = question?.tool ?? question?.text ?? 'the call';
  const isReply = question?.kind === 'input';
  const who = viewed.value?.owner ?? 'You';
  return (
    <>
      {isReply ? `${who} answered` : `${who} ${decision === 'approve' ? 'approved' : 'denied'} ${what}`}
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
