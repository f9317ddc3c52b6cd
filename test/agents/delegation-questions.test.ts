import { once } from 'node:events';
import { describe, expect, it, jest } from '@jest/globals';
import type { Peer, PeerEvent, PeerRequest } from '../../src/core/agent.js';
import { LangoError } from '../../src/core/errors.js';
import type { Message } from '../../src/core/message.js';
import { textPart } from '../../src/core/message.js';
import { replyPart } from '../../src/core/questions.js';
import type { Question } from '../../src/core/task.js';
import { team, toolNamed, tree } from '../support/agent-fixtures.js';
import { directoryOf, ending, fakePeer } from '../support/fake-peer.js';
import { MemoryRun } from '../support/memory-run.js';
import { ScriptedModel, ask, call, resultsIn, say } from '../support/scripted-model.js';

const ROOT = 'lango-orchestrator';

describe('a question of a sub-agent', () => {
  const dangerous = [
    toolNamed('fs_rm', { danger: () => 'dangerous' }),
    toolNamed('rag_drop', { danger: () => 'dangerous' }),
  ];
  const scripts = {
    orchestrator: [call(ask('operator'), ask('librarian')), say('All done.')],
    operator: [call(['fs_rm', { path: 'a' }]), say('removed')],
    librarian: [call(['rag_drop', { path: 'b' }]), say('dropped')],
  };
  const approve = (hash: string): Message => ({
    id: `yes-${hash}`,
    role: 'user',
    parts: [replyPart({ hash, decision: 'approve' })],
  });

  it('is passed up with the same hash, and each reply reaches the agent that asked, once', async () => {
    const { root, peers, model } = team(scripts, { tools: dangerous });
    const run = MemoryRun.of(ROOT, 'clean up');
    const asked = await run.perform(root);
    expect(asked.state).toBe('input-required');
    const [first, second] = asked.questions!;
    expect([first!.tool, second!.tool]).toEqual(['fs_rm', 'rag_drop']);
    expect(first!.author).toBe('operator');
    expect(peers.taskOf('operator')!.bodies('question')[0]!.question.hash).toBe(first!.hash);

    const half = run.followedBy(approve(second!.hash));
    const still = await half.perform(root);
    expect(still).toMatchObject({ state: 'input-required', questions: [{ hash: first!.hash }] });
    expect(peers.taskOf('librarian')!.answer()).toBe('dropped');
    expect(peers.taskOf('operator')!.attempt).toBe(1);

    const whole = half.followedBy(approve(first!.hash));
    expect(await whole.perform(root)).toEqual({ state: 'completed' });
    expect(resultsIn(model.asked('orchestrator').at(-1))).toEqual(['removed', 'dropped']);
    expect(peers.requests.filter(({ request }) => request.isReply)).toHaveLength(2);
    expect(peers.requests).toHaveLength(4);
    expect(whole.usage()).toEqual({ input: 60, output: 30, cached: 0 });
  });

  it('is not approved by a reply in prose', async () => {
    const { root, peers } = team(scripts, { tools: dangerous });
    const run = MemoryRun.of(ROOT, 'clean up');
    const asked = await run.perform(root);
    const again = await run.followedBy('approved').perform(root);
    expect(again).toMatchObject({ state: 'input-required', questions: asked.questions });
    expect(again.text).toContain('Any other reply leaves this open');
    expect(peers.requests).toHaveLength(2);
  });

  it('is refused at the sub-agent when nobody replies in time, and the task above continues', async () => {
    const { root, peers, model } = team(scripts, { tools: dangerous });
    const run = MemoryRun.of(ROOT, 'clean up');
    const { questions } = await run.perform(root);
    const asked = peers.taskOf('operator')!.bodies('question')[0]!.question;
    expect(questions![0]!.expiresAt).toBe(asked.expiresAt);
    const after = run.afterExpiry();
    expect(await after.perform(root)).toEqual({ state: 'completed' });
    expect(peers.requests.filter(({ request }) => request.isReply)).toHaveLength(2);
    expect(resultsIn(model.asked('operator').at(-1))[0]).toMatch(
      /refused this call \("nobody replied in time"\)/,
    );
    expect(resultsIn(model.asked('orchestrator').at(-1))).toEqual(['removed', 'dropped']);
  });

  it("has the person's words as its result for ask_user, and the final output of the sub-agent streams", async () => {
    const { root, model } = team({
      orchestrator: [call(ask('planner', 'plan it', true))],
      planner: [call(['ask_user', { question: 'By when?' }]), say('Plan: by Friday.')],
    });
    const run = MemoryRun.of(ROOT, 'plan it');
    expect(await run.perform(root)).toMatchObject({ state: 'input-required', text: 'By when?' });
    const next = run.followedBy('by Friday');
    expect(await next.perform(root)).toEqual({ state: 'completed', author: 'planner' });
    expect(next.answer()).toBe('Plan: by Friday.');
    expect(resultsIn(model.asked('planner')[1])).toEqual(['by Friday']);
    expect(model.asked('orchestrator')).toHaveLength(1);
  });

  const hidden = 'Where\u200b?';
  const where: Question = { hash: 'where', kind: 'input', text: hidden, author: 'weather' };
  it.each([
    ['only says what it waits for', []],
    ['asks with the same hash again', [where]],
  ])('gets each reply once when a peer %s, and shows every letter of its text', async (_, questions) => {
    const requests: PeerRequest[] = [];
    const waits = { ...ending('weather', hidden), state: 'input-required', questions } as PeerEvent;
    const answers: PeerEvent[][] = [
      [{ type: 'task', taskId: 'w1' }, waits],
      [waits],
      [ending('weather', 'Sunny.')],
    ];
    const peer: Peer = {
      name: 'weather',
      description: '',
      skills: [],
      isRemote: false,
      async *send(request) {
        requests.push(request);
        yield* answers[requests.length - 1]!;
      },
      cancel: async () => {},
    };
    const model = new ScriptedModel({ orchestrator: [call(ask('weather')), say('Sunny, it says.')] });
    const { root } = tree({ model, peers: directoryOf(peer) });
    let run = MemoryRun.of(ROOT, 'weather?');
    expect(await run.perform(root!)).toMatchObject({ state: 'input-required', text: 'Where<U+200B>?' });
    run = run.followedBy('there');
    expect(await run.perform(root!)).toMatchObject({ state: 'input-required', text: 'Where<U+200B>?' });
    run = run.followedBy('in Rome');
    expect(await run.perform(root!)).toEqual({ state: 'completed' });
    expect(requests.map(({ message, isReply, taskId }) => [message.parts[0], isReply, taskId])).toEqual([
      [textPart('read a'), false, undefined],
      [textPart('there'), true, 'w1'],
      [textPart('in Rome'), true, 'w1'],
    ]);
  });

  it('makes the orchestrator give up a peer that repeats it after its expiry', async () => {
    const question: Question = { hash: 'h', kind: 'approval', text: 'May I?', author: 'weather' };
    const waits = {
      ...ending('weather', 'May I?'),
      state: 'input-required',
      questions: [question],
    } as PeerEvent;
    const model = new ScriptedModel({ orchestrator: [call(ask('weather')), say('It could not be done.')] });
    const { root } = tree({ model, peers: fakePeer('weather', [waits]) });
    const run = MemoryRun.of(ROOT, 'weather?');
    expect((await run.perform(root!)).questions![0]!.expiresAt).toBeGreaterThan(Date.now());
    const after = run.afterExpiry();
    expect(await after.perform(root!)).toEqual({ state: 'completed' });
    expect(resultsIn(model.asked('orchestrator').at(-1))[0]).toMatch(/a reply that nobody gave in time/);
  });

  it('is passed up as auth-required when it asks for credentials', async () => {
    const end: PeerEvent = {
      ...ending('weather', 'Log in at the weather site.'),
      state: 'auth-required',
    } as PeerEvent;
    const model = new ScriptedModel({ orchestrator: [call(ask('weather'))] });
    const run = MemoryRun.of(ROOT, 'hello');
    expect(await run.perform(tree({ model, peers: fakePeer('weather', [end]) }).root!)).toMatchObject({
      state: 'auth-required',
      text: 'Log in at the weather site.',
    });
    expect(run.bodies('delegation-end')[0]!.state).toBe('auth-required');
  });

  it('fails its delegation when the task has no room to say where to log in', async () => {
    const waiting = { ...ending('weather', 'Log in.'), state: 'auth-required' } as PeerEvent & {
      type: 'end';
    };
    const peer: Peer = {
      ...fakePeer('weather', []).get('weather')!,
      async *send(_, signal) {
        yield { type: 'authorization', author: 'weather', waiting };
        await once(signal, 'abort');
        throw signal.reason;
      },
    };
    const model = new ScriptedModel({ orchestrator: [call(ask('weather')), say('It failed.')] });
    const run = MemoryRun.of(ROOT, 'hello');
    const emit = run.emit.bind(run);
    jest.spyOn(run, 'emit').mockImplementation((body, author) => {
      if (body.type === 'status') throw new LangoError('limit-reached', 'The task is full.');
      emit(body, author);
    });
    expect(await run.perform(tree({ model, peers: directoryOf(peer) }).root!)).toEqual({
      state: 'completed',
    });
    expect(resultsIn(model.asked('orchestrator').at(-1))[0]).toContain('The task is full.');
  });
});
