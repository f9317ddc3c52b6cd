import { describe, expect, it } from '@jest/globals';
import { replyPart, repliesIn, isReply, questionsIn } from '../../src/core/questions.js';
import type { Question } from '../../src/core/task.js';

const QUESTION: Question = {
  hash: 'h1',
  kind: 'approval',
  text: 'May it?',
  author: 'operator',
  tool: 'exec',
};

describe('The questions in a message', () => {
  it('are read from parts of our form and of A2A’s JSON alike', () => {
    const data = { question: QUESTION };
    expect(
      questionsIn([
        { kind: 'text', text: 'a' },
        { kind: 'data', data },
      ]),
    ).toEqual([QUESTION]);
    expect(questionsIn([{ text: 'a' }, { data, mediaType: 'application/json' }])).toEqual([QUESTION]);
  });

  it.each([
    ['no hash', { hash: undefined }],
    ['an unknown kind', { kind: 'order' }],
    ['a text that is none', { text: 5 }],
    ['a time that is none', { expiresAt: 'tomorrow' }],
    ['arguments that are no object', { arguments: [1] }],
  ])('are left out with %s', (_, members) => {
    expect(questionsIn([{ data: { question: { ...QUESTION, ...members } } }])).toEqual([]);
  });
});

describe('The answers in a message', () => {
  it('are those that were written, in both forms', () => {
    const answer = { hash: 'h1', decision: 'deny', text: 'not today' } as const;
    const part = replyPart(answer);
    const { kind: _, ...ofJson } = part;
    expect([repliesIn([part]), repliesIn([ofJson])]).toEqual([[answer], [answer]]);
  });

  it('are found when they claim to be answers, and told from those that are', () => {
    const claims = [
      { hash: 'h1', decision: 'approve' },
      { hash: 'h1', decision: 'maybe' },
      { decision: 'deny' },
    ];
    const found = repliesIn(claims.map((answer) => ({ data: { answer } })));
    expect(found).toEqual(claims);
    expect(found.map(isReply)).toEqual([true, false, false]);
  });
});
