import { describe, expect, it } from '@jest/globals';
import { answerText } from '../../src/core/model.js';
import { smallTalk } from '../../src/models/offline/talk.js';
import {
  answerTo,
  modelRequest,
  transferSpec,
  userSays,
  CONTROL,
  OPERATOR,
  ORCHESTRATOR,
} from './offline-world.js';

const PLANNER = {
  system: [
    { text: 'You are the planner. You plan work in several steps; you carry nothing out.', stable: true },
  ],
  functions: CONTROL,
};

async function say(text: string, parts: Parameters<typeof modelRequest>[0] = { functions: ORCHESTRATOR }) {
  const answer = await answerTo(modelRequest({ ...parts, messages: [userSays(text)] }));
  expect(answer.stopReason).toBe('end');
  return answerText(answer.content);
}

describe('small talk', () => {
  it.each([
    ['Hello!', 'greeting'],
    ['hi there', 'greeting'],
    ['안녕하세요', 'greeting'],
    ['How are you?', 'well-being'],
    ['thanks a lot', 'thanks'],
    ['bye', 'farewell'],
    ['OK', 'assent'],
    ['Who are you?', 'identity'],
    ['are you ChatGPT?', 'identity'],
    ['which model is this', 'identity'],
    ['What can you do?', 'abilities'],
    ['help', 'abilities'],
    ['what do you think about cheese?', 'opinion'],
    ['I love spring', 'opinion'],
  ])('knows "%s"', (text, kind) => {
    expect(smallTalk(text)).toBe(kind);
  });

  it.each(['hi-fi is great stuff', 'read notes.txt', 'thankless', 'what is love', '', '!!!', 'helpful tips'])(
    'does not take "%s" for it',
    (text) => {
      expect(smallTalk(text)).toBeUndefined();
    },
  );

  it('O5 is answered in one call, without a delegation', async () => {
    expect(await say('Good morning!')).toMatch(/^Hello!/);
    expect(await say('Thanks!')).toBe('You are welcome.');
    expect(await say('What do you think about tea?')).toContain('no opinions');
    expect(await say('hello', { functions: OPERATOR })).toMatch(/^Hello!/);
  });

  it('O5 stays here when an agent has it among its examples', async () => {
    const functions = [transferSpec({ other: ['hello', 'what can you do?', 'say hello to {name}'] })];
    expect(await say('hello', { functions })).toMatch(/^Hello!/);
    expect(await say('what can you do?', { functions })).toContain('- other: ');
  });

  it('says what it is', async () => {
    const said = await say('Who are you?');
    expect(said).toMatch(/^I am Lango's offline model/);
    expect(said).toContain('no key');
    expect(said).toContain('ANTHROPIC_API_KEY, or model.provider');
  });

  it('lists what can be asked for, by agent and in human words', async () => {
    const said = await say('what can you do?');
    expect(said).toContain('- operator: read [path]; ');
    expect(said).toContain('- planner: plan [goal]');
    expect(said).not.toContain('{');
    expect(said).not.toContain('ask operator');
  });
});

describe('what is not understood', () => {
  it('is said plainly, with the nearest examples', async () => {
    const said = await say('whatever the web says, dance');
    expect(said).toContain('I did not understand "whatever the web says, dance".');
    expect(said).toContain("I am Lango's offline model");
    const examples = said.split('\n').filter((line) => line.startsWith('- '));
    expect(examples[0]).toBe('- search the web for [query]');
    expect(examples.length).toBeGreaterThanOrEqual(3);
    expect(examples.length).toBeLessThanOrEqual(5);
  });

  it('is a question of general knowledge, too', async () => {
    expect(await say('What is the capital of France?')).toMatch(/^I cannot answer that/);
    expect(await say('Tell me why the sky is blue')).toMatch(/^I cannot answer that/);
  });

  it('is an empty message', async () => {
    expect(await say(' ')).toContain('empty');
  });

  it('has no examples where there is nothing to do', async () => {
    expect(await say('dance', { functions: [] })).not.toContain('- ');
    expect(await say('what can you do', { functions: [transferSpec({})] })).toContain('nothing');
  });
});

describe('planning', () => {
  it('makes the clauses of a goal the steps, with a check at the end', async () => {
    const said = await say('plan: write the notes, tag the release and then publish it', PLANNER);
    expect(said.split('\n').filter((line) => /^\d/.test(line))).toEqual([
      '1. Write the notes',
      '2. Tag the release',
      '3. Publish it',
      '4. Check that each step did what it should: write the notes, tag the release and then publish it',
    ]);
    expect(said).toContain("Lango's offline model does not reason");
  });

  it('says what goes on at the same time', async () => {
    const said = await say('make a plan to bake bread and at the same time set the table', PLANNER);
    expect(said).toContain('1. Bake bread\n2. At the same time: set the table\n3. Check');
  });

  it('has an outline with the words of any other goal', async () => {
    const said = await say('plan how to launch a website', PLANNER);
    expect(said).toContain('Plan: launch a website');
    expect(said.match(/^\d\. .*/gm)).toHaveLength(4);
  });

  it('still says who it is, and greets', async () => {
    expect(await say('hello', PLANNER)).toMatch(/^Hello!/);
    expect(await say('who are you', PLANNER)).toContain('offline model');
  });

  it('is for agents that are told to plan and have no tools', async () => {
    const told = await answerTo(
      modelRequest({ ...PLANNER, functions: OPERATOR, messages: [userSays('launch a website')] }),
    );
    expect(told.stopReason).toBe('function-calls');
    const silent = await answerTo(
      modelRequest({ functions: CONTROL, messages: [userSays('launch a website')] }),
    );
    expect(silent.stopReason).toBe('function-calls');
  });
});
