import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { StreamResponse, TaskState } from '@a2a-js/sdk';
import { TOKEN } from '../../support/a2a-node.js';
import { sseEvents } from '../../support/a2a-requests.js';
import { hushConsole } from '../beside-stock/console.js';
import type { Play } from '../beside-stock/puppet.js';
import type { Side } from '../beside-stock/sides.js';
import { get, message, openOurs, openStock, textOf, untilIn } from '../beside-stock/sides.js';

/** A2A 1.0, section 7.6: an agent waits for a credential that comes by another way, and goes on in the same task. */

const { TASK_STATE_WORKING, TASK_STATE_AUTH_REQUIRED, TASK_STATE_COMPLETED } = TaskState;
const WHERE = 'Log in at https://login.example, please.';

let ours: Side;
let stock: Side;
/** The id of the newest task of each side. */
const begun = new Map<Side, PromiseWithResolvers<string>>();

/** Waits for a login, until it is released. */
const logsIn =
  (side: Side): Play =>
  async ({ say, context, released }) => {
    say.open();
    say.status(TASK_STATE_WORKING);
    say.status(TASK_STATE_AUTH_REQUIRED, WHERE);
    begun.get(side)!.resolve(context.taskId);
    await released;
    say.status(TASK_STATE_WORKING);
    say.text('welcome');
    say.status(TASK_STATE_COMPLETED);
  };

beforeAll(async () => {
  hushConsole();
  [ours, stock] = await Promise.all([openOurs({}), openStock({})]);
});
afterAll(async () => {
  await Promise.all([ours.close(), stock.close()]);
  jest.restoreAllMocks();
});

function begin(side: Side, play: Play = logsIn(side)): Promise<string> {
  const id = Promise.withResolvers<string>();
  begun.set(side, id);
  side.puppet.rehearse(play);
  return id.promise;
}

type Streams = Readonly<Record<string, (side: Side) => Promise<readonly StreamResponse[]>>>;

const STREAMS: Streams = {
  'JSON-RPC': async (side) =>
    sseEvents((await side.rpc('SendStreamingMessage', message('x'))).text).map(({ data }) =>
      StreamResponse.fromJSON(data.result),
    ),
  'HTTP+JSON': async (side) =>
    sseEvents((await side.http('/message:stream', { body: message('x') })).text).map(({ data }) =>
      StreamResponse.fromJSON(data),
    ),
  gRPC: async (side) => (await side.grpc('sendStreamingMessage', message('x'))).said as StreamResponse[],
};

/** The states and texts of a stream, without repeats of a state. */
function told(events: readonly StreamResponse[]): readonly string[] {
  const all = events.map(({ payload }) => {
    if (payload?.$case === 'statusUpdate') return TaskState[payload.value.status!.state];
    if (payload?.$case === 'artifactUpdate') return String(payload.value.artifact!.parts[0]!.content?.value);
    return payload!.$case;
  });
  return all.filter((one, at) => one !== all[at - 1]);
}

const WHOLE = [
  'task',
  'TASK_STATE_WORKING',
  'TASK_STATE_AUTH_REQUIRED',
  'TASK_STATE_WORKING',
  'welcome',
  'TASK_STATE_COMPLETED',
];

describe('after AUTH_REQUIRED', () => {
  it.each(Object.keys(STREAMS))('a stream over %s stays open and shows the rest', async (name) => {
    const id = begin(ours);
    const stream = STREAMS[name]!(ours);
    await untilIn(ours, await id, 'AUTH_REQUIRED');
    ours.puppet.release();
    expect(told(await stream)).toEqual(WHOLE);
    expect(textOf(await get(ours, await id))).toBe('welcome');
  });

  it('the stream of the stock server is the same', async () => {
    const id = begin(stock);
    const stream = STREAMS['JSON-RPC']!(stock);
    await untilIn(stock, await id, 'AUTH_REQUIRED');
    stock.puppet.release();
    expect(told(await stream)).toEqual(WHOLE);
  });

  it('a stream of A2A 0.3 shows the rest too', async () => {
    const id = begin(ours);
    const parts = [{ kind: 'text', text: 'x' }];
    const asked = { message: { kind: 'message', role: 'user', messageId: 'old-1', parts } };
    const stream = ours.rpc('message/stream', asked, { headers: { 'A2A-Version': '0.3' } });
    await untilIn(ours, await id, 'AUTH_REQUIRED');
    ours.puppet.release();
    const states = sseEvents((await stream).text).map(({ data }) => data.result.status?.state);
    expect(states.filter((one) => one !== undefined).slice(-3)).toEqual([
      'auth-required',
      'working',
      'completed',
    ]);
  });

  it('a subscription shows the rest too', async () => {
    const id = begin(ours);
    void ours.rpc('SendMessage', message('x', {}, { returnImmediately: true }));
    await untilIn(ours, await id, 'AUTH_REQUIRED');
    const headers = {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      authorization: `Bearer ${TOKEN}`,
    };
    const body = { jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: await id } };
    // The head of the response tells that the subscription is open.
    const stream = await fetch(ours.origin, { method: 'POST', headers, body: JSON.stringify(body) });
    ours.puppet.release();
    const events = sseEvents(await stream.text()).map(({ data }) => StreamResponse.fromJSON(data.result));
    expect(told(events)).toEqual(['task', ...WHOLE.slice(-3)]);
  });

  it('a blocking call returns with where to log in, and the task goes on', async () => {
    const id = begin(ours);
    const { task } = (await ours.rpc('SendMessage', message('x'))).json.result;
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_AUTH_REQUIRED',
      message: { parts: [{ text: WHERE }] },
    });
    ours.puppet.release();
    expect(textOf(await untilIn(ours, await id, 'COMPLETED'))).toBe('welcome');
  });

  it('an agent that returns leaves its task to the next message, and the stream shows its run', async () => {
    const id = begin(ours, ({ say, context, count }) => {
      if (count > 1) return void (say.text('welcome'), say.status(TASK_STATE_COMPLETED));
      say.open();
      say.status(TASK_STATE_AUTH_REQUIRED, WHERE);
      begun.get(ours)!.resolve(context.taskId);
    });
    const stream = STREAMS['JSON-RPC']!(ours);
    await untilIn(ours, await id, 'AUTH_REQUIRED');
    await ours.rpc('SendMessage', message('done', { taskId: await id }));
    const events = await stream;
    const asks = events.filter(
      ({ payload }) =>
        payload?.$case === 'statusUpdate' && payload.value.status?.state === TASK_STATE_AUTH_REQUIRED,
    );
    expect(asks).toHaveLength(1);
    expect(told(events)).toEqual(WHOLE);
  });
});
