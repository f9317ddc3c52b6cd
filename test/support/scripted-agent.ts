import type { Agent } from '../../src/core/agent.js';
import type { Part } from '../../src/core/message.js';
import { textOf } from '../../src/core/message.js';
import type { Run, RunEnd } from '../../src/core/run.js';

/** A run of a scripted agent; `text` is the text of the newest message. */
export type Script = (run: Run, text: string) => Promise<RunEnd>;

export function scriptedAgent(name: string, script: Script = followOrders): Agent {
  return {
    profile: {
      name,
      description: `${name} follows orders.`,
      skills: [
        {
          id: 'orders',
          name: 'Orders',
          description: 'Follows orders.',
          tags: ['test'],
          examples: ['say {text}'],
        },
      ],
    },
    run: (run) => script(run, textOf(run.inputs.at(-1)!.message.parts)),
  };
}

const PIXEL: Part = { kind: 'file', bytes: 'iVBORw0KGgo=', mediaType: 'image/png', filename: 'pixel.png' };

/** "say X", "chunks N", "ask", "wait", "fail", "refuse", "file", "echo": one order for each way a run can go. */
export async function followOrders(run: Run, text: string): Promise<RunEnd> {
  const [order = '', ...words] = text.split(' ');
  const say = (what: string): void =>
    run.emit({ type: 'text-delta', artifactId: 'answer', text: what, replace: false });
  switch (order) {
    case 'say':
      say(words.join(' '));
      return { state: 'completed' };
    case 'chunks':
      for (let i = 0; i < Number(words[0]); i += 1) {
        await run.append({ type: 'text-delta', artifactId: 'answer', text: `<${i}>`, replace: i === 0 });
      }
      return { state: 'completed' };
    case 'ask':
      return { state: 'input-required', text: 'what shall I say?' };
    case 'wait':
      await run.append({ type: 'activity', activity: { type: 'text', text: 'waiting' } });
      await new Promise((resolve) => run.signal.addEventListener('abort', resolve, { once: true }));
      return { state: 'failed' };
    case 'fail':
      throw new Error('connect to postgres://user:hunter2@db failed');
    case 'refuse':
      return { state: 'rejected', text: 'not my work' };
    case 'file':
      run.emit({
        type: 'artifact',
        artifact: { id: 'picture', name: 'a pixel', parts: [PIXEL] },
        append: false,
      });
      return { state: 'completed' };
    case 'echo': {
      const [, ...parts] = run.inputs.at(-1)!.message.parts;
      run.emit({ type: 'artifact', artifact: { id: 'echo', name: 'as it came', parts }, append: false });
      return { state: 'completed' };
    }
    default:
      say(`you said: ${text}`);
      return { state: 'completed' };
  }
}
