import { describe, expect, it } from '@jest/globals';
import { Artifact as WireArtifact, Message as WireMessage, TaskState as WireState } from '@a2a-js/sdk';
import fc from 'fast-check';
import {
  fromWireArtifact,
  fromWireMessage,
  fromWireState,
  toWireArtifact,
  toWireMessage,
  toWireState,
} from '../../../src/a2a/translate/content.js';
import type { Artifact, Message, Part } from '../../../src/core/message.js';
import type { TaskState } from '../../../src/core/task.js';

const PLACE = { taskId: 't', contextId: 'c' };

const word = fc.string({ minLength: 1 });
const object = fc.dictionary(
  word.filter((key) => key !== '__proto__'),
  fc.string(),
);
const extras = fc.record({ mediaType: word, filename: word, metadata: object }, { requiredKeys: [] });
const content = fc.oneof(
  fc.record({ kind: fc.constant('text' as const), text: fc.string() }),
  fc.record({
    kind: fc.constant('data' as const),
    data: fc.oneof(object, fc.integer(), fc.boolean(), fc.array(fc.string())),
  }),
  fc.record({ kind: fc.constant('file' as const), url: fc.webUrl() }),
  fc.record({
    kind: fc.constant('file' as const),
    bytes: fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64')),
  }),
);
const part = fc.tuple(content, extras).map(([kind, more]): Part => ({ ...kind, ...more }));
const parts = fc.array(part, { maxLength: 4 });

describe('content that is translated to the wire and back', () => {
  it('keeps messages unchanged', () => {
    const message = fc.record(
      {
        id: word,
        role: fc.constantFrom('user' as const, 'agent' as const),
        parts,
        metadata: object,
        extensions: fc.array(word, { minLength: 1, maxLength: 2 }),
        referenceTaskIds: fc.array(word, { minLength: 1, maxLength: 2 }),
      },
      { requiredKeys: ['id', 'role', 'parts'] },
    );
    fc.assert(
      fc.property(message, (sent: Message) => {
        const json = JSON.stringify(WireMessage.toJSON(toWireMessage(sent, PLACE)));
        expect(fromWireMessage(WireMessage.fromJSON(JSON.parse(json)))).toEqual(sent);
      }),
    );
  });

  it('keeps artifacts unchanged', () => {
    const artifact = fc.record(
      { id: word, parts, name: word, description: word, metadata: object },
      { requiredKeys: ['id', 'parts'] },
    );
    fc.assert(
      fc.property(artifact, (sent: Artifact) => {
        const json = JSON.stringify(WireArtifact.toJSON(toWireArtifact(sent)));
        expect(fromWireArtifact(WireArtifact.fromJSON(JSON.parse(json)))).toEqual(sent);
      }),
    );
  });

  it('keeps states unchanged, and drops a state of a later protocol', () => {
    const states: readonly TaskState[] = [
      'submitted',
      'working',
      'input-required',
      'auth-required',
      'completed',
      'failed',
      'canceled',
      'rejected',
    ];
    for (const state of states) expect(fromWireState(toWireState(state))).toBe(state);
    expect(fromWireState(WireState.TASK_STATE_UNSPECIFIED)).toBeUndefined();
    expect(fromWireState(WireState.UNRECOGNIZED)).toBeUndefined();
  });
});
