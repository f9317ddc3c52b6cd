import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import { AgentEvent } from '@a2a-js/sdk/server';
import { EXTENSIONS } from '../../../src/core/extensions.js';
import type { JsonObject } from '../../../src/core/json.js';
import { sseEvents } from '../../support/a2a-requests.js';
import { PushReceiver } from '../../support/push-receiver.js';
import { hushConsole } from '../beside-stock/console.js';
import type { Play } from '../beside-stock/puppet.js';
import type { Side } from '../beside-stock/sides.js';
import { message, openOurs, openStock } from '../beside-stock/sides.js';

/** A2A 1.0, section 4.3.3: a webhook gets what a stream shows. */

const { TASK_STATE_WORKING, TASK_STATE_COMPLETED } = TaskState;

const works: Play = ({ say }) => {
  say.open();
  say.status(TASK_STATE_WORKING);
  say.status(TASK_STATE_WORKING, 'thinking');
  say.text('seven');
  say.status(TASK_STATE_COMPLETED);
};
const replies: Play = ({ say, bus }) => bus.publish(AgentEvent.message(say.message('just so')));

let ours: Side;
let stock: Side;
beforeAll(async () => {
  hushConsole();
  [ours, stock] = await Promise.all([openOurs({}), openStock({})]);
});
afterAll(async () => {
  await Promise.all([ours.close(), stock.close()]);
  jest.restoreAllMocks();
});

const isEnd = (body: JsonObject): boolean =>
  body['message'] !== undefined || JSON.stringify(body).includes('TASK_STATE_COMPLETED');

/** The events of a stream, and the deliveries to the webhook of the same task. */
async function told(side: Side, play: Play, extensions = '') {
  await using receiver = await PushReceiver.open();
  side.puppet.rehearse(play);
  const headers = { 'A2A-Extensions': extensions };
  const configuration = { taskPushNotificationConfig: { url: receiver.url } };
  const stream = await side.rpc('SendStreamingMessage', message('x', {}, configuration), { headers });
  await receiver.until((got) => got.some(({ body }) => isEnd(body)), 'the end');
  const events = sseEvents(stream.text).map(({ data }) => data.result as object as JsonObject);
  return { events, posted: receiver.got.map(({ body }) => body) };
}

describe('a webhook', () => {
  it.each(['', EXTENSIONS.author, Object.values(EXTENSIONS).join(', ')])(
    'gets the events of the stream, each once, with the metadata that was asked for: %s',
    async (extensions) => {
      const { events, posted } = await told(ours, works, extensions);
      expect(events[0]).toHaveProperty('task');
      expect(posted).toEqual(events.slice(1));
      for (const uri of Object.values(EXTENSIONS))
        if (!extensions.includes(uri)) expect(JSON.stringify(posted)).not.toContain(uri);
    },
  );

  it.each(['ours', 'stock'])('gets the message that an agent replies with: %s', async (name) => {
    const { events, posted } = await told(name === 'ours' ? ours : stock, replies);
    expect(events).toMatchObject([{ message: { parts: [{ text: 'just so' }] } }]);
    // That the agent works is known before it replies.
    expect(posted.filter((body) => !JSON.stringify(body).includes('TASK_STATE_WORKING'))).toEqual(events);
    expect(posted.at(-1)).toEqual(events[0]);
  });

  it('of A2A 0.3 gets the Task each time', async () => {
    await using receiver = await PushReceiver.open();
    ours.puppet.rehearse(works);
    const parts = [{ kind: 'text', text: 'x' }];
    const sent = { kind: 'message', role: 'user', messageId: 'old-1', parts };
    const configuration = { pushNotificationConfig: { url: receiver.url } };
    const headers = { 'A2A-Version': '0.3' };
    await ours.rpc('message/send', { message: sent, configuration }, { headers });
    const isOver = (body: JsonObject) =>
      (body['status'] as JsonObject | undefined)?.['state'] === 'completed';
    await receiver.until((got) => got.some(({ body }) => isOver(body)), 'the end');
    expect(new Set(receiver.got.map(({ body }) => body['kind']))).toEqual(new Set(['task']));
    expect(receiver.got.at(-1)!.body).toMatchObject({ artifacts: [{ parts: [{ text: 'seven' }] }] });
  });
});
