import { monitorEventLoopDelay } from 'node:perf_hooks';
import { StolenTime } from '../fuzz/stolen-time.js';
import { connect, createServer, LangoError, type SettingsInput } from '../../src/index.js';

/** What the stage asks of its child. */
export type Question =
  | { readonly kind: 'measure' }
  | { readonly kind: 'card'; readonly url: string }
  | { readonly kind: 'settings'; readonly settings: SettingsInput };

/** What became of a card or of settings. */
export interface Taken {
  readonly outcome: 'taken' | 'refused';
  /** Whether it was refused with an error of ours. */
  readonly isTyped?: boolean;
  readonly text?: string;
}

/** What a child did since it was last measured. */
export interface Measure {
  /** The longest time in which the event loop answered nothing, without what the machine took away. */
  readonly delayMs: number;
}

/** A server as a child of the stage, whose event loop is watched: `child.js HOME SETTINGS`. */
const [home = '', settings = '{}'] = process.argv.slice(2);
const server = createServer({ home, settings: JSON.parse(settings) as SettingsInput });
const { origin, token } = await server.start();
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
const stolen = new StolenTime();
let stolenBefore = 0;

const leave = (): void => void server.stop().finally(() => process.exit());
process.once('SIGTERM', leave);
process.once('disconnect', leave);
process.on('message', (question: Question) => {
  void answer(question).then((reply) => process.send?.(reply));
});
process.send?.({ origin, token });

async function answer(question: Question): Promise<unknown> {
  if (question.kind === 'measure') return measure();
  try {
    if (question.kind === 'card') await callAgent(question.url);
    else createServer({ home, settings: question.settings });
    return { outcome: 'taken' };
  } catch (error) {
    return { outcome: 'refused', isTyped: error instanceof LangoError, text: String(error) };
  }
}

/** Reads the card at an address and sends a message as it says. */
async function callAgent(url: string): Promise<void> {
  const events = connect({ url }).send(
    { parts: [{ kind: 'text', text: 'hello' }] },
    AbortSignal.timeout(5_000),
  );
  for await (const event of events) {
    if (event.type === 'end' && event.state === 'failed')
      throw new LangoError('invalid-agent-response', event.text);
  }
}

function measure(): Measure {
  const taken = stolen.ms - stolenBefore;
  stolenBefore = stolen.ms;
  const delayMs = Math.max(0, delay.max / 1e6 - taken);
  delay.reset();
  return { delayMs };
}
