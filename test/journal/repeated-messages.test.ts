import { afterEach, describe, expect, it } from '@jest/globals';
import { textPart } from '../../src/core/message.js';
import { noSecrets } from '../../src/core/secrets.js';
import { compileScrubber } from '../../src/scrub/scrubber.js';
import { close, closed, journal, message, open } from './journal-under-test.js';

afterEach(close);

describe('a message whose id was used before', () => {
  it('is a repeat for its task, and a conflict for another task and with other content', async () => {
    await open(async () => ({ state: 'input-required', text: 'And?' }));
    const first = { ...message('go'), contextId: 'talk' };
    const { task } = await journal.submit(first);
    const { task: other } = await journal.submit({ ...message('start'), contextId: 'talk' });
    await closed(task.id, 1);
    await closed(other.id, 1);
    const more = { ...message('more'), taskId: task.id };
    const { seq } = await journal.submit(more);
    for (const again of [
      more,
      { ...more, contextId: 'talk' },
      { ...more, taskId: undefined, contextId: 'talk' },
    ])
      expect(await journal.submit(again)).toMatchObject({ repeated: true, seq, task: { id: task.id } });
    const longer = { ...more.message, parts: [...more.message.parts, textPart('!')] };
    for (const wrong of [
      { ...more, taskId: other.id },
      { ...first, taskId: task.id },
      { ...more, message: longer },
      { ...more, message: { ...more.message, role: 'agent' as const } },
    ])
      await expect(journal.submit(wrong)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('is a repeat also when a part of its text has become a secret since', async () => {
    let scrubber = noSecrets.scrubber({ tenant: '', owner: '' });
    await open(async () => ({ state: 'completed' }), { secrets: { scrubber: () => scrubber } });
    const sent = message('keep hunter2-swordfish as door');
    const { task } = await journal.submit(sent);
    scrubber = compileScrubber([
      { value: 'hunter2-swordfish', mask: '[door]', encodedMask: '[door, encoded]' },
    ]);
    expect(await journal.submit(sent)).toMatchObject({ repeated: true, task: { id: task.id } });
    const other = { ...sent.message, parts: [textPart('keep hunter2-catfish as door')] };
    await expect(journal.submit({ ...sent, message: other })).rejects.toMatchObject({ code: 'conflict' });
  });
});
