import type { Answer, Question } from '../core/task.js';
import type { ConnectionFlags } from './connection.js';
import { shellWord } from './safe-text.js';
import type { Terminal } from './terminal.js';

/** Says what becomes of a question; undefined leaves it open. */
export type Asker = (question: Question) => Promise<Answer | undefined>;

/** Asks the person at the terminal, who has the question in front of them already. */
export function terminalAsker({ progress }: Terminal): Asker {
  return async (question) => {
    progress.stop();
    const answer = await (question.kind === 'input' ? askForWords(question) : askForDecision(question));
    progress.start('working');
    return answer;
  };
}

/** Leaves every question open. */
export const nobody: Asker = async () => undefined;

/** Approves each call that waits for approval, and leaves other questions to `next`. */
export function approving(next: Asker): Asker {
  return async (question) =>
    question.kind === 'approval' ? { hash: question.hash, decision: 'approve' } : next(question);
}

/** How a task that waits is answered later, with the flags that lead to the same server. */
export function waysToAnswer(
  taskId: string,
  questions: readonly Question[],
  flags: ConnectionFlags,
): readonly string[] {
  const places = (['url', 'home', 'config'] as const).flatMap((name) =>
    flags[name] === undefined ? [] : [` --${name} ${shellWord(flags[name])}`],
  );
  const send = `lango send${places.join('')} --task ${shellWord(taskId)}`;
  return questions.flatMap(({ kind, hash }) => {
    if (kind === 'input') return [`To answer:  ${send} "your reply"`];
    const name = shellWord(hash);
    return [`To approve: ${send} --approve ${name}`, `To deny:    ${send} --deny ${name} --reason "why"`];
  });
}

async function askForWords({ hash }: Question): Promise<Answer | undefined> {
  const { isCancel, text } = await import('@clack/prompts');
  const reply = await text({ message: 'Your reply (empty: later)', output: process.stderr });
  if (isCancel(reply) || !reply.trim()) return undefined;
  return { hash, decision: 'approve', text: reply };
}

async function askForDecision({ hash, kind }: Question): Promise<Answer | undefined> {
  const { isCancel, select, text } = await import('@clack/prompts');
  const output = process.stderr;
  const choice = await select({
    message: kind === 'approval' ? 'Allow this call?' : 'Run it again?',
    output,
    initialValue: 'deny', // whoever presses Enter without looking, or typed ahead, has allowed nothing
    options: [
      { value: 'approve', label: 'Yes' },
      { value: 'deny', label: 'No' },
      { value: 'explain', label: 'No, and say why' },
      { value: 'later', label: 'Decide later' },
    ],
  });
  if (isCancel(choice) || choice === 'later') return undefined;
  if (choice === 'approve') return { hash, decision: 'approve' };
  if (choice === 'deny') return { hash, decision: 'deny' };
  const reason = await text({ message: 'Why not? The agent is told.', output });
  return isCancel(reason) ? undefined : { hash, decision: 'deny', text: reason };
}
