import { setTimeout } from 'node:timers/promises';
import { TaskState } from '@a2a-js/sdk';
import { AgentEvent } from '@a2a-js/sdk/server';
import { sseEvents } from '../../support/a2a-requests.js';
import type { Row } from './compare.js';
import { besideStock } from './compare.js';
import { worksUntilReleased } from './puppet.js';
import { AT_ONCE, ENDED, begin, get, message, orSilence, textOf, untilIn } from './sides.js';

/** Lines 5 to 10, 19 and 20 of table 3.1: executors that publish odd events, and how their tasks end. */

const { TASK_STATE_WORKING, TASK_STATE_COMPLETED } = TaskState;
const { TASK_STATE_INPUT_REQUIRED, TASK_STATE_AUTH_REQUIRED } = TaskState;
/** The wait for a response that never comes, once nothing else is left to wait for. */
const SILENCE_MS = 1_500;
/** Our server stops waiting for an agent that does not stop after five seconds. */
const LEFT_BEHIND_MS = 8_000;

/** A question that the executor publishes as a task, not as a status. */
function asking(state: TaskState): Row {
  const name = TaskState[state];
  return {
    line: `3.1 #5 ${name} published as a task ends a blocking call`,
    agent: ({ say }) => say.open(state, 'which one?'),
    async ask(side) {
      const contextId = crypto.randomUUID();
      const sent = side.rpc('SendMessage', message('x', { contextId }));
      for (;;) {
        const [task] = (await side.rpc('ListTasks', { contextId })).json.result.tasks;
        if (task?.status.state === name) break;
      }
      const reply = await orSilence(sent, SILENCE_MS);
      return reply === 'silence' ? reply : reply.json.result.task.status.state;
    },
    ours: name,
    stock: 'silence',
  };
}

besideStock('events of an executor', [
  asking(TASK_STATE_INPUT_REQUIRED),
  asking(TASK_STATE_AUTH_REQUIRED),
  {
    line: '3.1 #6 a text chunk is stored once while two calls follow the task',
    agent: async ({ asked, say, released }) => {
      if (asked === 'begin') {
        say.open();
        say.status(TASK_STATE_WORKING);
      }
      await released;
      if (asked === 'begin') say.text('once.', true);
      say.status(TASK_STATE_COMPLETED);
    },
    async ask(side) {
      const { id } = await begin(side);
      await untilIn(side, id, 'WORKING');
      const more = side.rpc('SendMessage', message('more', { taskId: id }));
      while ((await get(side, id)).history.length < 2);
      side.puppet.release();
      await more;
      return textOf(await untilIn(side, id, ...ENDED));
    },
    ours: 'once.',
    stock: 'once.once.',
  },
  {
    line: '3.1 #8 nothing is added to a task that has ended',
    agent: ({ say }) => {
      say.open(TASK_STATE_COMPLETED);
      say.text('too late');
    },
    async ask(side) {
      const { id } = await begin(side);
      await untilIn(side, id, ...ENDED);
      await setTimeout(50);
      return textOf(await get(side, id));
    },
    ours: '',
    stock: 'too late',
  },
  {
    line: '3.1 #8 a task that has ended is not opened again by a task that its executor publishes',
    agent({ say }) {
      say.open(TASK_STATE_COMPLETED);
      say.open(TASK_STATE_WORKING);
    },
    async ask(side) {
      const { id } = await begin(side);
      await untilIn(side, id, ...ENDED, 'WORKING');
      await orSilence(untilIn(side, id, 'WORKING'), 500);
      return (await get(side, id)).status.state;
    },
    ours: 'TASK_STATE_COMPLETED',
    stock: 'TASK_STATE_WORKING',
  },
  {
    line: '3.1 #9 a cancel reaches the executor through any process',
    agent: worksUntilReleased,
    async ask(side) {
      const { id } = await begin(side);
      await untilIn(side, id, 'WORKING');
      const canceling = side.elsewhere.rpc('CancelTask', { id });
      await Promise.race([canceling, side.puppet.told]);
      side.puppet.release();
      const { state } = (await canceling).json.result.status;
      return { state, told: side.puppet.canceled.length };
    },
    ours: { state: 'TASK_STATE_CANCELED', told: 1 },
    stock: { state: 'TASK_STATE_CANCELED', told: 0 },
  },
  {
    line: '3.1 #10 a cancel returns although the executor never stops',
    agent: async ({ say }) => {
      say.open();
      say.status(TASK_STATE_WORKING);
      await new Promise(() => {});
    },
    async ask(side) {
      const { id } = await begin(side);
      await untilIn(side, id, 'WORKING');
      const reply = await orSilence(side.rpc('CancelTask', { id }), LEFT_BEHIND_MS);
      return reply === 'silence' ? reply : reply.json.result.status.state;
    },
    ours: 'TASK_STATE_CANCELED',
    stock: 'silence',
  },
  {
    line: '3.1 #19 a response without history leaves the executor its own history',
    agent: async ({ say, context, bus, released }) => {
      const status = { state: TASK_STATE_WORKING, message: undefined, timestamp: undefined };
      const { taskId: id, contextId, userMessage } = context;
      const task = {
        id,
        contextId,
        status,
        artifacts: [],
        history: [userMessage, userMessage],
        metadata: undefined,
      };
      bus.publish(AgentEvent.task(task));
      await released;
      say.text(`${task.history.length} messages`);
      say.status(TASK_STATE_COMPLETED);
    },
    async ask(side) {
      const sent = await side.rpc('SendMessage', message('x', {}, { ...AT_ONCE, historyLength: 0 }));
      side.puppet.release();
      return textOf(await untilIn(side, sent.json.result.task.id, ...ENDED));
    },
    ours: '2 messages',
    stock: '0 messages',
  },
  {
    line: '3.1 #20 a stream of a silent executor begins with its task and ends with its failure',
    async ask(side) {
      const { text } = await side.rpc('SendStreamingMessage', message('x'));
      const events = sseEvents(text).map(({ data: { result } }) => result);
      const end = events.at(-1)?.statusUpdate?.status.state;
      return { begins: events[0] && Object.keys(events[0])[0], ends: end };
    },
    ours: { begins: 'task', ends: 'TASK_STATE_FAILED' },
    stock: { begins: undefined, ends: undefined },
  },
  {
    line: '3.1 #20 a call of a silent executor returns a failed task',
    async ask(side) {
      const { json } = await side.rpc('SendMessage', message('x'));
      return { error: json.error?.code, state: json.result?.task.status.state };
    },
    ours: { error: undefined, state: 'TASK_STATE_FAILED' },
    stock: { error: -32603, state: undefined },
  },
]);
