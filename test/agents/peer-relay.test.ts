import { describe, expect, it } from '@jest/globals';
import { PeerRelay } from '../../src/agents/peer-relay.js';
import { MemoryRun } from '../support/memory-run.js';

const AUTHOR = 'operator';

/** A relay after a reply to its peer, whose task has this text already. */
function afterReply(told: string) {
  const run = MemoryRun.of('lango-orchestrator', 'hello');
  const about = { step: 't1.c0', agent: AUTHOR, isAnswer: true, entryBytes: 100_000, sharedBy: 1 };
  const relay = new PeerRelay({ run, ...about, told: new Set([told]) });
  const say = (text: string) =>
    relay.pass({ type: 'text-delta', artifactId: 'answer', text, replace: true, author: AUTHOR });
  const written = async () => {
    await run.settle();
    return run.bodies('text-delta').map(({ text }) => text);
  };
  return { relay, say, written };
}

describe('the relay of a peer after a reply', () => {
  it('does not write again the text that the peer repeats, but writes another one', async () => {
    const { say, written } = afterReply('Shall I?');
    say('Shall I?');
    say('Done.');
    expect(await written()).toEqual(['Done.']);
  });

  it('writes the same text again once the peer has begun a call, because it is said anew', async () => {
    const { relay, say, written } = afterReply('Shall I?');
    say('Shall I?');
    const activity = { type: 'tool-call', tool: 'fs_write', arguments: {} } as const;
    relay.pass({ type: 'activity', activity, author: AUTHOR });
    say('Shall I?');
    expect(await written()).toEqual(['Shall I?']);
  });
});
