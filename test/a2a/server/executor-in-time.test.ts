import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Message, StreamResponse, Task } from '@a2a-js/sdk';
import { AgentCard, TaskState } from '@a2a-js/sdk';
import { AgentEvent } from '@a2a-js/sdk/server';
import { setImmediate as soon } from 'node:timers/promises';
import { hushConsole } from '../beside-stock/console.js';
import type { Play } from '../beside-stock/puppet.js';
import type { Side } from '../beside-stock/sides.js';
import { openOurs, openStock } from '../beside-stock/sides.js';
import { RETURN_AT_ONCE, clientFactory, textRequest } from './stock-client.js';

/**
 * An executor that is silent between its events: it publishes the next one only once a client has heard the one before.
 * A server that holds an event back until the next one never ends.
 */

const { TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED } = TaskState;
const TRANSPORTS = ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const;

let sides: readonly [ours: Side, stock: Side];

beforeAll(async () => {
  hushConsole();
  sides = await Promise.all([openOurs({}), openStock({})]);
});
afterAll(async () => {
  await Promise.all(sides.map((side) => side.close()));
  jest.restoreAllMocks();
});

function clientOf({ origin, grpcAddress, tenant }: Side, protocolBinding: string) {
  const isGrpc = protocolBinding === 'GRPC';
  const url = isGrpc ? grpcAddress : origin;
  const one = { url, protocolBinding, protocolVersion: '1.0', tenant: isGrpc ? tenant : '' };
  const card = { name: 'puppet', supportedInterfaces: [one], capabilities: { streaming: true } };
  return clientFactory(protocolBinding).createFromAgentCard(AgentCard.fromJSON(card));
}

/** The contents of one event of a stream. */
function saidIn({ payload }: StreamResponse): string {
  if (payload?.$case === 'statusUpdate') return TaskState[payload.value.status!.state];
  if (payload?.$case === 'artifactUpdate') return String(payload.value.artifact!.parts[0]!.content?.value);
  return String(payload?.$case);
}

type Hears = (what: string) => Promise<void>;

/** Streams a message to an executor, which can wait until its client has heard something. Returns all that it heard. */
async function stream(
  side: Side,
  transport: string,
  play: (act: Parameters<Play>[0], hears: Hears) => unknown,
) {
  const heard: string[] = [];
  const hears: Hears = async (what) => {
    while (!heard.join(' ').includes(what)) await soon();
  };
  side.puppet.rehearse(async (act) => {
    await play(act, hears);
    act.bus.finished();
  });
  const client = await clientOf(side, transport);
  for await (const event of client.sendMessageStream(textRequest('x'))) heard.push(saidIn(event));
  return heard;
}

describe.each(TRANSPORTS)('over %s', (transport) => {
  it('a stream has each event of a silent executor at once, as that of the stock server', async () => {
    const [ours, stock] = await Promise.all(
      sides.map((side) =>
        stream(side, transport, async ({ say }, hears) => {
          say.open();
          await hears('task');
          say.status(TASK_STATE_WORKING);
          await hears('TASK_STATE_WORKING');
          say.text('one');
          await hears('one');
          say.text('two', true);
          await hears('two');
          say.status(TASK_STATE_COMPLETED);
        }),
      ),
    );
    expect(ours!.join('')).toBe('taskTASK_STATE_WORKINGonetwoTASK_STATE_COMPLETED');
    expect(stock!.join('')).toBe(ours!.join(''));
  });

  it('a stream has a state without words at once, also as the first event and when it is repeated', async () => {
    const heard = await stream(sides[0], transport, async ({ say }, hears) => {
      say.status(TASK_STATE_WORKING);
      await hears('TASK_STATE_WORKING');
      say.status(TASK_STATE_WORKING);
      say.status(TASK_STATE_COMPLETED);
    });
    expect(heard).toEqual(['task', 'TASK_STATE_WORKING', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']);
  });

  it('a stream of a further message begins at once when the executor repeats its task', async () => {
    const [side] = sides;
    side.puppet.rehearse(({ say }) => {
      say.open();
      say.status(TASK_STATE_INPUT_REQUIRED, 'which one?');
    });
    const client = await clientOf(side, transport);
    const { id: taskId, contextId } = (await client.sendMessage(textRequest('x'))) as Task;
    const begun = Promise.withResolvers<void>();
    side.puppet.rehearse(async ({ say }) => {
      say.open();
      await begun.promise;
      say.status(TASK_STATE_COMPLETED);
    });
    const heard: string[] = [];
    for await (const event of client.sendMessageStream(textRequest('this one', { taskId, contextId }))) {
      heard.push(saidIn(event));
      begun.resolve();
    }
    expect(heard).toEqual(['task', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']);
  });

  it('a send that returns immediately gives the message in place of a task, as the stock server does', async () => {
    const replies = await Promise.all(
      sides.map(async (side) => {
        side.puppet.rehearse(({ say, bus }) => void bus.publish(AgentEvent.message(say.message('just so'))));
        const client = await clientOf(side, transport);
        return client.sendMessage({ ...textRequest('x'), configuration: RETURN_AT_ONCE });
      }),
    );
    for (const reply of replies) expect((reply as Message).parts[0]!.content?.value).toBe('just so');
  });

  it('a send that returns immediately gives the task at the first event of the executor', async () => {
    const tasks = await Promise.all(
      sides.map(async (side) => {
        side.puppet.rehearse(async ({ say, released }) => {
          say.open();
          await released;
          say.status(TASK_STATE_COMPLETED);
        });
        const client = await clientOf(side, transport);
        const task = await client.sendMessage({ ...textRequest('x'), configuration: RETURN_AT_ONCE });
        side.puppet.release();
        return task as Task;
      }),
    );
    expect(tasks.map(({ status }) => TaskState[status!.state])).toEqual([
      'TASK_STATE_SUBMITTED',
      'TASK_STATE_SUBMITTED',
    ]);
  });
});
