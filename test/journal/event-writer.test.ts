import { afterEach, expect, it } from '@jest/globals';
import { textPart } from '../../src/core/message.js';
import { compileScrubber } from '../../src/scrub/scrubber.js';
import { close, ended, journal, message, open } from './journal-under-test.js';

afterEach(close);

const VALUE = 'hunter2-swordfish';
const MASK = '{{secret:mail}}';
const scrubber = compileScrubber([{ value: VALUE, mask: MASK, encodedMask: '[secret mail, encoded]' }]);

it('removes the values of secrets from every event that a run writes, and from its end', async () => {
  await open(
    async (run) => {
      run.emit({ type: 'activity', activity: { type: 'text', text: `signing in with ${VALUE}` } });
      run.emit({ type: 'text-delta', artifactId: 'answer', text: 'It is hunter2-', replace: true });
      run.emit({ type: 'text-delta', artifactId: 'answer', text: 'swordfish.', replace: false });
      const parts = [textPart(`${VALUE} in a file`)];
      await run.append({
        type: 'artifact',
        artifact: { id: 'file', name: `${VALUE}.txt`, parts },
        append: false,
      });
      return { state: 'completed', text: `Done with ${VALUE}` };
    },
    { secrets: { scrubber: () => scrubber } },
  );
  const { task } = await journal.submit(message('go'));
  const written = JSON.stringify(await ended(task.id));
  expect(written.split(MASK)).toHaveLength(6);
  expect(written).not.toContain('swordfish');
});
