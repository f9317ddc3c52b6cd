import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { makeHome, startServer } from '../cli/lango-process.js';
import { PushReceiver, numbers, states } from '../support/push-receiver.js';

it('a delivery that was open when the server was killed is made again, with its id and body, and the rest follows', async () => {
  await using receiver = await PushReceiver.open();
  receiver.answer = () => 'silence';
  const home = await makeHome('egress:\n  allowPrivate: ["127.0.0.1"]\n');
  try {
    const first = await startServer(home);
    const token = readFileSync(path.join(home.folder, 'token'), 'utf8').trim();
    await fetch(`${first.origin}/message:send`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body: JSON.stringify({
        message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'list the files' }] },
        configuration: { taskPushNotificationConfig: { url: receiver.url } },
      }),
    });
    await receiver.until((got) => got.length === 1);
    first.child.kill('SIGKILL');
    await first.stop();
    receiver.answer = () => 200;
    const second = await startServer(home);
    try {
      await receiver.untilEnd();
      const [open, again, ...rest] = receiver.got;
      expect(again!.headers['x-a2a-notification-id']).toBe(open!.headers['x-a2a-notification-id']);
      expect(again!.text).toBe(open!.text);
      expect(states(rest)).toContain('TASK_STATE_COMPLETED');
      const seqs = numbers([again!, ...rest]);
      expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
    } finally {
      await second.stop();
    }
  } finally {
    await home.remove();
  }
});
