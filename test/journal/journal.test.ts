import { afterEach, describe, expect, it } from '@jest/globals';
import { LangoError } from '../../src/core/errors.js';
import { newId } from '../../src/core/ids.js';
import { textOf, textPart } from '../../src/core/message.js';
import { NO_USAGE } from '../../src/core/model.js';
import type { Run } from '../../src/core/run.js';
import type { EventBody } from '../../src/core/task.js';
import {
  canceled,
  close,
  closed,
  ended,
  journal,
  message,
  open,
  SCOPE,
  seen,
  store,
  until,
  whenCanceled,
} from './journal-under-test.js';

afterEach(close);

describe('a run', () => {
  it("journals the agent's events, in order, without gaps, with one closing event", async () => {
    await open(async (run) => {
      run.emit({ type: 'text-delta', artifactId: 'answer', text: 'one ', replace: true });
      run.emit({ type: 'text-delta', artifactId: 'answer', text: 'two', replace: false, lastChunk: true });
      await run.append({ type: 'activity', activity: { type: 'turn-start' } });
      return { state: 'completed' };
    });
    const { task } = await journal.submit(message('go'));
    const events = await ended(task.id);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.map(({ body }) => body.type)).toEqual([
      'message',
      'run-start',
      'text-delta',
      'activity',
      'run-end',
    ]);
    expect(events[2]?.body).toMatchObject({ text: 'one two', replace: true });
    expect(events[2]?.author).toBe('echo');
    expect((await journal.get(SCOPE, task.id))?.state).toBe('completed');
  });

  it('joins 2,000 small text chunks into a few events', async () => {
    await open(async (run) => {
      for (let i = 0; i < 2_000; i += 1) {
        run.emit({ type: 'text-delta', artifactId: 'answer', text: 'abcd', replace: i === 0 });
        if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      return { state: 'completed' };
    });
    const { task } = await journal.submit(message('go'));
    const deltas = (await ended(task.id)).flatMap(({ body }) =>
      body.type === 'text-delta' ? [body.text] : [],
    );
    expect(deltas.join('')).toBe('abcd'.repeat(2_000));
    expect(deltas.length).toBeLessThan(20);
  });

  it.each([
    {
      title: 'a LangoError, in its words',
      thrown: new LangoError('model', 'no model answers'),
      reason: 'model',
      text: 'no model answers',
    },
    {
      title: 'anything else, without its text',
      thrown: new Error('secret path /etc'),
      reason: 'internal',
      text: 'Internal error. The log of the server says more.',
    },
  ])('fails when the agent throws $title', async ({ thrown, reason, text }) => {
    await open(async () => {
      throw thrown;
    });
    const { task } = await journal.submit(message('go'));
    const end = (await ended(task.id)).at(-1)!.body;
    expect(end).toMatchObject({ type: 'run-end', state: 'failed', reason });
    expect(end.type === 'run-end' && textOf(end.message?.parts ?? [])).toBe(text);
  });

  it('fails, once, when an event is too large to keep', async () => {
    await open(async (run) => {
      await run.append({ type: 'activity', activity: { type: 'text', text: 'x'.repeat(1_200_000) } });
      return { state: 'completed' };
    });
    const { task } = await journal.submit(message('go'));
    const ends = (await ended(task.id)).filter(({ body }) => body.type === 'run-end');
    expect(ends.map(({ body }) => body)).toMatchObject([{ state: 'failed', reason: 'too-large' }]);
  });

  it('is stopped at its time limit', async () => {
    await open((run) => until(run.signal), { runSeconds: 0.05 });
    const { task } = await journal.submit(message('go'));
    expect((await ended(task.id)).at(-1)!.body).toMatchObject({ state: 'failed', reason: 'limit-seconds' });
  });

  it('is stopped at the deadline of its grant', async () => {
    await open((run) => until(run.signal));
    const grant = { chain: [], depth: 1, deadline: Date.now() + 50 };
    const { task } = await journal.submit({ ...message('go'), grant });
    const end = (await ended(task.id)).at(-1)!.body;
    expect(end).toMatchObject({ state: 'failed', message: { parts: [{ text: 'The deadline passed.' }] } });
  });
});

describe('a message', () => {
  it('returns the same task when it is repeated, and is refused with other content', async () => {
    await open(async () => ({ state: 'completed' }));
    const first = message('go');
    const sent = await Promise.all([journal.submit(first), journal.submit(first), journal.submit(first)]);
    expect(new Set(sent.map(({ task }) => task.id)).size).toBe(1);
    expect(sent.filter(({ repeated }) => repeated)).toHaveLength(2);
    const other = { ...first, message: { ...first.message, parts: [textPart('stop')] } };
    await expect(journal.submit(other)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('continues a task that waits for it, in the following run', async () => {
    await open(async (run) => {
      if (run.inputs.length === 1) return { state: 'input-required', text: 'Which color?' };
      return { state: 'completed', text: `thank you for ${textOf(run.inputs[1]!.message.parts)}` };
    });
    const { task } = await journal.submit(message('paint'));
    expect((await closed(task.id, 1)).state).toBe('input-required');
    await journal.submit({ ...message('blue'), taskId: task.id });
    const events = await ended(task.id);
    expect(events.at(-1)?.body).toMatchObject({ message: { parts: [{ text: 'thank you for blue' }] } });
    expect(events.filter(({ body }) => body.type === 'run-start').map(({ body }) => body)).toEqual([
      { type: 'run-start', attempt: 1 },
      { type: 'run-start', attempt: 2 },
    ]);
  });

  it.each(['completed', 'input-required'] as const)(
    'is processed before the task is %s when it arrives during a run',
    async (state) => {
      let release = () => {};
      const gate = new Promise<void>((resolve) => (release = resolve));
      await open(async (run) => {
        const isFirst = run.inputs.length === 1;
        if (isFirst) await gate;
        return {
          state: isFirst ? state : 'completed',
          text: run.inputs.map((input) => textOf(input.message.parts)).join('+'),
        };
      });
      const { task } = await journal.submit(message('one'));
      await seen(task.id, 'run-start');
      await journal.submit({ ...message('two'), taskId: task.id });
      expect((await journal.get(SCOPE, task.id))?.state).toBe('working');
      release();
      expect((await ended(task.id)).at(-1)?.body).toMatchObject({
        message: { parts: [{ text: 'one+two' }] },
      });
    },
  );

  it('is refused and stores nothing for an ended, foreign or unknown task, or in a wrong context', async () => {
    await open(async () => ({ state: 'completed' }));
    const { task } = await journal.submit(message('go'));
    const before = (await ended(task.id)).length;
    const again = { ...message('more'), taskId: task.id };
    await expect(journal.submit(again)).rejects.toMatchObject({ code: 'already-ended' });
    const misplaced = { ...again, agent: 'other' };
    await expect(journal.submit(misplaced)).rejects.toMatchObject({ code: 'not-found' });
    const foreign = { ...again, scope: { tenant: '', owner: 'eve' } };
    await expect(journal.submit(foreign)).rejects.toMatchObject({ code: 'not-found' });
    await expect(journal.submit({ ...again, taskId: newId() })).rejects.toMatchObject({ code: 'not-found' });
    await expect(journal.submit({ ...again, contextId: 'other' })).rejects.toMatchObject({
      code: 'invalid-input',
    });
    expect((await journal.read(task.id, 0, 100)).length).toBe(before);
  });
});

describe('a cancel', () => {
  it('stops the running agent and ends the task once', async () => {
    let reason: unknown;
    await open(async (run) => {
      await until(run.signal);
      reason = run.signal.reason;
      return { state: 'completed' };
    });
    const { task } = await journal.submit(message('go'));
    await seen(task.id, 'run-start');
    expect((await journal.cancel(SCOPE, task.id)).state).toBe('canceled');
    expect(reason).toMatchObject({ code: 'canceled' });
    expect((await journal.cancel(SCOPE, task.id)).state).toBe('canceled');
    const ends = (await ended(task.id)).filter(({ body }) => body.type === 'run-end');
    expect(ends).toHaveLength(1);
  });

  it("ends the task although its agent does not stop, and ignores the agent's later events", async () => {
    const deaf = Promise.withResolvers<void>();
    const refused = Promise.withResolvers<unknown>();
    await open(async (run) => {
      await deaf.promise;
      const late = run.append({ type: 'activity', activity: { type: 'turn-start' } });
      refused.resolve(await late.catch((error: unknown) => error));
      return { state: 'completed' };
    });
    const { task } = await journal.submit(message('go'));
    expect((await journal.cancel(SCOPE, task.id)).state).toBe('canceled');
    const ending = await ended(task.id);
    deaf.resolve();
    expect(await refused.promise).toMatchObject({ code: 'fenced' });
    expect(await ended(task.id)).toEqual(ending);
  });

  it('reaches a run although one commit stores it right after an event of the run', async () => {
    await open(async (run) => {
      const written = run.append({ type: 'activity', activity: { type: 'text', text: 'on it' } });
      const canceled = store.requestCancel(SCOPE, run.task.id);
      await Promise.all([written, canceled, until(run.signal)]);
      return { state: 'completed' };
    });
    const { task } = await journal.submit(message('go'));
    await ended(task.id);
    expect((await journal.get(SCOPE, task.id))?.state).toBe('canceled');
  });

  it('is refused for a task that ended otherwise, and "not found" for other owners', async () => {
    await open(async () => ({ state: 'completed' }));
    const { task } = await journal.submit(message('go'));
    await ended(task.id);
    await expect(journal.cancel(SCOPE, task.id)).rejects.toMatchObject({ code: 'not-cancelable' });
    const eve = { tenant: '', owner: 'eve' };
    await expect(journal.cancel(eve, task.id)).rejects.toMatchObject({ code: 'not-found' });
  });
});

describe('a task with open delegations', () => {
  const DELEGATES: readonly EventBody[] = [
    {
      type: 'delegation-start',
      step: 't1.c0',
      callId: 'c',
      agent: 'vault',
      request: 'r',
      final: false,
      key: 'k',
    },
    { type: 'delegation-task', step: 't1.c0', taskId: 'child' },
  ];
  const WAITS: EventBody = {
    type: 'delegation-end',
    step: 't1.c0',
    agent: 'vault',
    state: 'input-required',
    result: { id: 'c', name: 'transfer_to_agent', content: '', isError: true },
    usage: NO_USAGE,
  };
  const delegate = async (run: Run, bodies: readonly EventBody[]): Promise<void> => {
    for (const body of bodies) await run.append(body);
  };

  it('has them canceled while it waits for a person, before it is canceled itself', async () => {
    await open(async (run) => {
      await delegate(run, [...DELEGATES, WAITS]);
      return { state: 'input-required', text: 'May it?' };
    });
    const { task } = await journal.submit(message('go'));
    await closed(task.id, 1);
    const states: unknown[] = [];
    whenCanceled(async () => void states.push((await journal.get(SCOPE, task.id))?.state));
    expect((await journal.cancel(SCOPE, task.id)).state).toBe('canceled');
    expect(canceled).toEqual(['ada vault child']);
    expect(states).toEqual(['input-required']);
  });

  it.each([
    ['and has them canceled', [...DELEGATES, WAITS], 'child'],
    ['before their tasks are named, and has them canceled by their messages', DELEGATES.slice(0, 1), 'k'],
  ])('fails %s', async (_, bodies, name) => {
    await open(async (run) => {
      await delegate(run, bodies);
      throw new LangoError('model', 'no model answers');
    });
    const { task } = await journal.submit(message('go'));
    await ended(task.id);
    expect(canceled).toEqual([`ada vault ${name}`]);
  });

  it('leaves ended delegations alone, and those it still waits for', async () => {
    await open(async (run) => {
      if (run.attempt === 1) {
        await delegate(run, [...DELEGATES, WAITS]);
        return { state: 'input-required', text: 'May it?' };
      }
      const step = 't1.c0.x1';
      await delegate(run, [
        { ...DELEGATES[0]!, step } as EventBody,
        { ...DELEGATES[1]!, step } as EventBody,
        { ...WAITS, step, state: 'completed' },
      ]);
      return { state: 'completed' };
    });
    const { task } = await journal.submit(message('go'));
    await closed(task.id, 1);
    expect(canceled).toEqual([]);
    await journal.submit({ ...message('yes'), taskId: task.id });
    await ended(task.id);
    expect(canceled).toEqual([]);
  });
});

describe('the journal after a restart', () => {
  it('continues unfinished tasks from their recorded events', async () => {
    const attempts: number[] = [];
    await open(async (run) => {
      attempts.push(run.attempt);
      if (!run.recorded('t1.c0')) {
        await run.append({
          type: 'tool-call',
          step: 't1.c0',
          callId: 'c',
          tool: 'x',
          arguments: {},
          effect: 'unsafe',
          key: 'k',
        });
        return until(run.signal);
      }
      return { state: 'completed', text: String(run.recorded('t1.c0')?.result === undefined) };
    });
    const { task } = await journal.submit(message('go'));
    await seen(task.id, 'tool-call');
    await journal.stop();
    await journal.start();
    const events = await ended(task.id);
    expect(attempts).toEqual([1, 2]);
    expect(events.filter(({ body }) => body.type === 'tool-call')).toHaveLength(1);
    expect(events.at(-1)?.body).toMatchObject({ state: 'completed', message: { parts: [{ text: 'true' }] } });
  });

  it('counts usage over all attempts', async () => {
    await open(async (run) => {
      const step = `t${run.attempt}`;
      await run.append({ type: 'turn-start', step });
      const usage = { input: 10, output: 1, cached: 0 };
      await run.append({ type: 'turn-end', step, content: [], stopReason: 'end', usage });
      return run.attempt === 1 ? until(run.signal) : { state: 'completed' };
    });
    const { task } = await journal.submit(message('go'));
    await seen(task.id, 'turn-end');
    await journal.stop();
    await journal.start();
    expect((await ended(task.id)).at(-1)?.body).toMatchObject({ usage: { input: 20, output: 2 } });
    expect(NO_USAGE.input).toBe(0);
  });
});

describe('the journal with many followers and tasks', () => {
  it('shows every follower the same events in the same order, from any cursor', async () => {
    await open(async (run) => {
      for (let i = 0; i < 50; i += 1) {
        await run.append({ type: 'activity', activity: { type: 'text', text: String(i) } });
      }
      return { state: 'completed' };
    });
    const { task } = await journal.submit(message('go'));
    const [all, others, late] = await Promise.all([ended(task.id), ended(task.id), ended(task.id, 20)]);
    expect(others).toEqual(all);
    expect(late).toEqual(all.slice(20));
    expect(await ended(task.id, 10)).toEqual(all.slice(10));
  });

  it('queues tasks while all slots are in use, and runs them all', async () => {
    let running = 0;
    let most = 0;
    await open(
      async () => {
        most = Math.max(most, (running += 1));
        await new Promise((resolve) => setTimeout(resolve, 5));
        running -= 1;
        return { state: 'completed' };
      },
      { concurrentRuns: 3 },
    );
    const sent = await Promise.all(Array.from({ length: 20 }, () => journal.submit(message('go'))));
    const ends = await Promise.all(sent.map(async ({ task }) => (await ended(task.id)).at(-1)?.body));
    expect(ends.every((body) => body?.type === 'run-end' && body.state === 'completed')).toBe(true);
    expect(most).toBe(3);
  });

  it('runs delegated tasks although their parents use all slots, and after a restart too', async () => {
    let restarts = false;
    await open(
      async (run) => {
        if (run.grant.chain.length > 0) {
          if (restarts) await until(run.signal);
          return { state: 'completed' };
        }
        const child = { ...message('below'), grant: { chain: ['echo@node'], depth: 4 } };
        const { task } = await journal.submit({
          ...child,
          message: { ...child.message, id: `below ${run.task.id}` },
        });
        for await (const _ of journal.follow(task.id, 0, run.signal));
        return { state: 'completed' };
      },
      { concurrentRuns: 2 },
    );
    const all = async (sent: readonly { task: { id: string } }[]) =>
      Promise.all(sent.map(async ({ task }) => (await ended(task.id)).at(-1)?.body));
    const done = Array(6).fill(expect.objectContaining({ state: 'completed' }));
    const submitSix = () => Promise.all(Array.from({ length: 6 }, () => journal.submit(message('go'))));
    expect(await all(await submitSix())).toEqual(done);
    restarts = true;
    const sent = await submitSix();
    await journal.stop();
    restarts = false;
    await journal.start();
    expect(await all(sent)).toEqual(done);
  });
});
