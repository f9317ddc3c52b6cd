import type { Stage } from './stage.js';
import type { Stranger } from './stranger.js';

/** Where the cases of a corpus act. */
export interface Scene {
  readonly stage: Stage;
  readonly stranger: Stranger;
}

/** How the server took a case, or what was wrong. */
export type Outcome = 'taken' | 'refused' | { readonly finding: string };

export interface Case {
  readonly name: string;
  act(scene: Scene): Promise<Outcome>;
}

/** What no answer may hold: a trace, or the words of a fault of ours. */
const FAULTS =
  /\n\s+at [^\n]+:\d+:\d+|\b(TypeError|RangeError|ReferenceError|SyntaxError)\b|is not a function|of undefined|error inside Lango|"internal"/;
const ENDS = ['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED', 'INPUT_REQUIRED', 'AUTH_REQUIRED'];

/** Judges an answer of the server to one request. */
export async function judge(response: Response): Promise<Outcome> {
  const text = await response.text();
  const [fault] = FAULTS.exec(text) ?? [];
  if (fault !== undefined) return { finding: `the answer holds "${fault}"` };
  if (response.status === 500) return { finding: `status 500: ${text.slice(0, 200)}` };
  return response.ok ? 'taken' : 'refused';
}

/** Sends a text to the root agent, and judges the state that its task ends in. */
export async function send({ stage }: Scene, text: string): Promise<Outcome> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
  const response = await stage.fetch('/message:send', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message }),
  });
  const outcome = await judge(response.clone());
  if (outcome !== 'taken') return outcome;
  const { task } = (await response.json()) as { task?: { status: { state: string } } };
  const state = task?.status.state.replace('TASK_STATE_', '') ?? 'none';
  if (!ENDS.includes(state)) return { finding: `the task stands at ${state}` };
  return state === 'FAILED' || state === 'REJECTED' ? 'refused' : 'taken';
}
