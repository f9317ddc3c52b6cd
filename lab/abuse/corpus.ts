import { Random } from './fuzz/random.js';
import type { Stage } from './stage.js';
import type { Inside, Stranger } from './stranger.js';

/** The servers that the cases of a corpus act on. */
export interface Scene {
  readonly stage: Stage;
  readonly stranger: Stranger;
  readonly inside: Inside;
}

/** The server's verdict on a case, or the finding. */
export type Outcome = 'taken' | 'refused' | { readonly finding: string };

export interface Case {
  readonly name: string;
  /** Whether the input is right, so that it proves that the cases of its kind reach their target: it must be taken. */
  readonly isRight?: boolean;
  act(scene: Scene): Promise<Outcome>;
}

/** Makes `count` different cases from the same seed. */
export function cases<Input>(
  count: number,
  make: (random: Random) => Input,
  act: (scene: Scene, input: Input) => Promise<Outcome>,
): readonly Case[] {
  const random = new Random(count);
  const made = new Map<string, Input>();
  for (let tries = 0; made.size < count && tries < 20 * count; tries += 1) {
    const input = make(random);
    made.set(Buffer.isBuffer(input) ? input.toString('latin1') : JSON.stringify(input), input);
  }
  return [...made].map(([name, input]) => ({ name: name.slice(0, 200), act: (scene) => act(scene, input) }));
}

/** JSON of so many nested objects. */
export const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

/** Text that no response may contain: a stack trace, or the message of an internal error. */
const FAULTS =
  /\n\s+at [^\n]+:\d+:\d+|\b(TypeError|RangeError|ReferenceError|SyntaxError)\b|is not a function|is not iterable|of (?:undefined|null)\b|Maximum call stack|Invalid string length|Internal error\.|inside Lango|failed inside this server|"internal"/;
const ENDS = ['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED', 'INPUT_REQUIRED', 'AUTH_REQUIRED'];

/** Finds the message of an internal error in an outgoing text. */
export function faultIn(text: string): string | undefined {
  return FAULTS.exec(text)?.[0];
}

/** Judges the server's response to one request. */
export async function judge(response: Response): Promise<Outcome> {
  return judgeText(response, await response.text());
}

function judgeText({ ok, status }: Response, text: string): Outcome {
  const fault = faultIn(text);
  if (fault !== undefined) return { finding: `the answer holds "${fault}"` };
  if (status === 500) return { finding: `status 500: ${text.slice(0, 200)}` };
  return ok ? 'taken' : 'refused';
}

/** Sends a text to the root agent, and judges the state that its task ends in. */
export async function send(scene: Scene, text: string): Promise<Outcome> {
  return (await converse(scene, text)).outcome;
}

/** Sends a text to a task or in a context, and judges the final state. Resolves with the output of the agent too. */
export async function converse(
  { stage }: Scene,
  text: string,
  place: { readonly contextId?: string; readonly taskId?: string | undefined } = {},
): Promise<{ readonly outcome: Outcome; readonly said: string; readonly taskId?: string | undefined }> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...place };
  const response = await stage.fetch('/message:send', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message }),
  });
  const answer = await response.text();
  const outcome = judgeText(response, answer);
  if (outcome !== 'taken') return { outcome, said: answer };
  const { task } = JSON.parse(answer) as { task?: AnsweredTask };
  const state = task?.status.state.replace('TASK_STATE_', '') ?? 'none';
  const parts = [task?.status.message, ...(task?.artifacts ?? [])].flatMap((one) => one?.parts ?? []);
  const said = parts.map((part) => part.text ?? '').join('\n');
  if (!ENDS.includes(state)) return { outcome: { finding: `the task stands at ${state}` }, said };
  const outcomeOfTask = state === 'FAILED' || state === 'REJECTED' ? 'refused' : 'taken';
  return { outcome: outcomeOfTask, said, taskId: task?.id };
}

interface Parts {
  readonly parts: readonly { readonly text?: string }[];
}

interface AnsweredTask {
  readonly id: string;
  readonly status: { readonly state: string; readonly message?: Parts };
  readonly artifacts?: readonly Parts[];
}
