import { TaskState } from '@a2a-js/sdk';
import { setTimeout } from 'node:timers/promises';
import { PushReceiver, states } from '../../support/push-receiver.js';
import { besideStock } from './compare.js';
import type { Play } from './puppet.js';
import { AT_ONCE, ENDED, get, message, untilIn } from './sides.js';
import type { Side } from './sides.js';

/** Lines 3.1 #6 and 3.3 #6, as the receiver of a webhook observes them. */

const { TASK_STATE_WORKING, TASK_STATE_COMPLETED } = TaskState;
/** The wait for a delivery that must not come. */
const GRACE_MS = 3_000;
/** Longer than the SDK waits, shorter than the protocol advises. */
const SLOW_ANSWER_MS = 8_000;
const END = 'TASK_STATE_COMPLETED';

const answers: Play = ({ say }) => {
  say.open();
  say.status(TASK_STATE_COMPLETED);
};

/** Begins a task that notifies the receiver, and returns its id. */
async function sendFor(side: Side, { url }: { readonly url: string }, more: object = {}): Promise<string> {
  const configuration = { ...AT_ONCE, taskPushNotificationConfig: { url, ...more } };
  return (await side.rpc('SendMessage', message('begin', {}, configuration))).json.result.task.id;
}

/** Waits until `holds` returns true, or `graceMs` have passed. */
async function untilOrGrace(holds: () => boolean, graceMs = GRACE_MS): Promise<void> {
  const end = Date.now() + graceMs;
  while (!holds() && Date.now() < end) await setTimeout(10);
}

besideStock('webhooks', [
  {
    line: '3.1 #6 the end of a task is delivered once while two calls follow the task',
    async agent({ asked, say, released }) {
      if (asked === 'begin') {
        say.open();
        say.status(TASK_STATE_WORKING);
      }
      await released;
      say.status(TASK_STATE_COMPLETED);
    },
    async ask(side) {
      await using receiver = await PushReceiver.open();
      const id = await sendFor(side, receiver);
      await untilIn(side, id, 'WORKING');
      const more = side.rpc('SendMessage', message('more', { taskId: id }));
      while ((await get(side, id)).history.length < 2);
      side.puppet.release();
      await more;
      await untilIn(side, id, ...ENDED);
      await setTimeout(GRACE_MS);
      return states(receiver.got).filter((state) => state === END).length;
    },
    ours: 1,
    stock: 2,
  },
  {
    line: '3.3 #6 a redirect is not followed',
    agent: answers,
    async ask(side) {
      await using inner = await PushReceiver.open();
      await using receiver = await PushReceiver.open();
      receiver.answer = () => ({ status: 307, headers: { location: inner.url } });
      await sendFor(side, receiver);
      await receiver.until((got) => got.length > 0);
      await untilOrGrace(() => inner.got.length > 0);
      return inner.got.length > 0;
    },
    ours: false,
    stock: true,
  },
  {
    line: '3.3 #6 a refused delivery is repeated',
    agent: answers,
    async ask(side) {
      await using receiver = await PushReceiver.open();
      const taken: string[] = [];
      receiver.answer = (received, number) => {
        if (number <= 2) return 503;
        taken.push(...states([received]));
        return 200;
      };
      await sendFor(side, receiver);
      await untilOrGrace(() => taken.includes(END), 3 * GRACE_MS);
      return taken.includes(END);
    },
    ours: true,
    stock: false,
  },
  {
    line: '3.3 #6 the token is sent beside the credentials',
    agent: answers,
    async ask(side) {
      await using receiver = await PushReceiver.open();
      const authentication = { scheme: 'Bearer', credentials: 'secret' };
      await sendFor(side, receiver, { token: 'mine', authentication });
      await receiver.until((got) => got.length > 0);
      const { authorization, 'x-a2a-notification-token': token } = receiver.got[0]!.headers;
      return { authorization, token };
    },
    ours: { authorization: 'Bearer secret', token: 'mine' },
    stock: { authorization: 'Bearer secret', token: undefined },
  },
  {
    line: '3.3 #6 a receiver has more than eight seconds to respond',
    agent: answers,
    async ask(side) {
      await using receiver = await PushReceiver.open();
      receiver.answer = () => 'silence';
      await sendFor(side, receiver);
      await receiver.until((got) => got.length > 0);
      await setTimeout(SLOW_ANSWER_MS);
      return { isGivenUp: receiver.open === 0 || receiver.got.length > 1 };
    },
    ours: { isGivenUp: false },
    stock: { isGivenUp: true },
  },
  {
    line: '3.3 #6 the address of a webhook is not logged, as it may hold a secret',
    agent: answers,
    async ask(side) {
      await using receiver = await PushReceiver.open();
      await sendFor(side, { url: `${receiver.url}?key=hunter4` });
      await receiver.untilEnd();
      await setTimeout(50);
      return side.hasLogged('hunter4');
    },
    ours: false,
    stock: true,
  },
]);

besideStock(
  'webhooks whose first lookup is slow',
  [
    {
      line: '3.3 #6 events are delivered in their order, the end last',
      agent: answers,
      async ask(side) {
        await using receiver = await PushReceiver.open();
        await sendFor(side, receiver);
        await receiver.untilEnd();
        await receiver.until((got) => got.length > 1);
        return states(receiver.got.slice(-1));
      },
      ours: [END],
      stock: [],
    },
  ],
  { lateStore: true },
);
