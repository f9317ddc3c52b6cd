import { expect, it } from '@jest/globals';
import { Attachments } from '../../src/agents/attachments.js';
import type { Part } from '../../src/core/message.js';
import { textPart } from '../../src/core/message.js';
import type { Run } from '../../src/core/run.js';

const file = (bytes: string, mediaType: string, filename: string): Part => ({
  kind: 'file',
  bytes: btoa(bytes),
  mediaType,
  filename,
});
const notes = file('buy milk', 'text/plain', 'notes.txt');
const picture = file('\x89PNG\r\n\x1a\n', 'image/png', 'dot.png');

it.each([
  [
    'text',
    [
      textPart(
        'read\n\nThe file "notes.txt":\nbuy milk\n\n[The file "dot.png" was not sent: it is an image.]',
      ),
    ],
  ],
  ['image/png', [textPart('read\n\nThe file "notes.txt":\nbuy milk'), picture]],
  ['*/*', [textPart('read'), notes, picture]],
])(
  'an agent that takes %s gets other files as their text, in one part with the request',
  async (mode, wanted) => {
    const attachments = new Attachments(undefined);
    expect(await attachments.fit([textPart('read'), notes, picture], [mode], {} as Run)).toEqual(wanted);
  },
);
