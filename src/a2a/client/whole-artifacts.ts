import { TaskState } from '@a2a-js/sdk';
import type { StreamResponse, TaskStatus } from '@a2a-js/sdk';
import type { RequestOptions, Transport } from '@a2a-js/sdk/client';

type Events = AsyncGenerator<StreamResponse, void, undefined>;

const GOES_ON: ReadonlySet<TaskState | undefined> = new Set([
  TaskState.TASK_STATE_SUBMITTED,
  TaskState.TASK_STATE_WORKING,
]);

/**
 * For streams that forget whether a chunk continues the one before, as the SDK's proto codec of 0.3 does: chunks are
 * left out, and where the task ends or asks it is read as a whole.
 */
export function withWholeArtifacts(transport: Transport): Transport {
  async function* whole(events: Events, options: RequestOptions | undefined): Events {
    for await (const event of events) {
      const { payload } = event;
      if (payload?.$case === 'artifactUpdate') continue;
      if (payload?.$case !== 'statusUpdate' || goesOn(payload.value.status)) yield event;
      else {
        const task = await transport.getTask({ tenant: '', id: payload.value.taskId }, options);
        yield { payload: { $case: 'task', value: task } };
      }
    }
  }
  return Object.assign(Object.create(transport) as Transport, {
    sendMessageStream: (...[params, options]: Parameters<Transport['sendMessageStream']>) =>
      whole(transport.sendMessageStream(params, options), options),
    resubscribeTask: (...[params, options]: Parameters<Transport['resubscribeTask']>) =>
      whole(transport.resubscribeTask(params, options), options),
  });
}

function goesOn(status: TaskStatus | undefined): boolean {
  return GOES_ON.has(status?.state);
}
