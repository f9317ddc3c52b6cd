import { describe, expect, it } from '@jest/globals';
import { clauseText, splitClauses } from '../../src/models/offline/clauses.js';
import { createInterpreter } from '../../src/models/offline/interpreter.js';
import { TOOLS, ORCHESTRATOR } from './offline-world.js';

const MARKS = { then: '>', loose: ',', parallel: '|' } as const;

/** The clauses of a text, each but the first after a mark for its link. */
function split(text: string, functions = TOOLS): string[] {
  const { meaning } = createInterpreter(functions);
  return splitClauses(text, meaning).map((clause, index) => {
    const sentence = clauseText(text, clause);
    return index === 0 ? sentence : `${MARKS[clause.link]} ${sentence}`;
  });
}

describe('splitting a request into clauses', () => {
  it.each([
    ['read a and then run ls', ['read a', '> run ls']],
    ['read a, then run ls', ['read a', '> run ls']],
    ['read a. Then run ls; after that list the files', ['read a.', '> run ls', '> list the files']],
    ['read a. Run ls.', ['read a.', ', Run ls.']],
    ['read a; run ls', ['read a', ', run ls']],
    ['read a and run ls', ['read a', ', run ls']],
    ['read a\nrun ls', ['read a', ', run ls']],
    ['1. read a\n2) run ls\n- list the files', ['read a', '> run ls', '> list the files']],
    ['Do these:\n* read a\n* run ls', ['read a', '> run ls']],
    ['read a and at the same time run ls', ['read a', '| run ls']],
    ['read a. Meanwhile, run ls', ['read a.', '| run ls']],
    ['read a and in parallel run ls and then read b', ['read a', '| run ls', '> read b']],
    ['at once: read a; read b; run ls', ['read a', '| read b', '| run ls']],
    ['Please do these in parallel: read a, read b', ['read a', '| read b']],
    ['read a and run ls at the same time', ['read a', '| run ls']],
    ['read a and b and c.txt', ['read a', ', read b', ', read c.txt']],
  ])('%j', (text, clauses) => {
    expect(split(text)).toEqual(clauses);
  });

  it.each([
    'write "read a and then run ls" to b',
    'write `a. b; c` to b',
    'write ```\nread a\nrun ls\n``` to b',
    'write this and that to b',
    'write one, two and three to b',
    'write Dear Bob. I am fine. to b',
    'run make and make install',
    'run cat a; cat b',
    'run make in parallel',
    'search for cats and dogs',
  ])('leaves %j whole', (text) => {
    expect(split(text)).toEqual([text]);
  });

  it('keeps what was not understood as a clause of its own', () => {
    expect(split('My name is Bob. Read a and then dance')).toEqual([
      'My name is Bob.',
      ', Read a',
      '> dance',
    ]);
  });

  it('leaves a goal whole, unless what follows uses its result', () => {
    const goal = 'plan: write a to x, read x and then run ls';
    expect(split(goal, ORCHESTRATOR)).toEqual([goal]);
    expect(split('plan a trip and then write the plan to trip.md', ORCHESTRATOR)).toEqual([
      'plan a trip',
      '> write the plan to trip.md',
    ]);
  });

  it('divides a text of more than 4,000 characters, mostly content, at strong joints only', () => {
    const content = 'word '.repeat(900).trim();
    expect(split(`read a. Write ${content.slice(0, 3_000)} to b`)).toHaveLength(2);
    const long = [`write ${content}. Read a. Run ls to b`, 'read c'];
    expect(split(long.join(' and then '))).toEqual([long[0], `> ${long[1]}`]);
    expect(split(`read a. Write ${content} to b`)).toHaveLength(1);
  });

  it('divides no text into more than 100 clauses', () => {
    expect(split(Array(500).fill('read a').join(' then '))).toHaveLength(100);
  });
});
