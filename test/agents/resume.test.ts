import { describe, expect, it } from '@jest/globals';
import { isLangoError } from '../../src/core/errors.js';
import { textOf } from '../../src/core/message.js';
import { replyPart } from '../../src/core/questions.js';
import type { RunEnd } from '../../src/core/run.js';
import type { EffectClass } from '../../src/core/task.js';
import type { Executed, Team } from '../support/agent-fixtures.js';
import { flat, team, toolNamed } from '../support/agent-fixtures.js';
import { MemoryRun } from '../support/memory-run.js';
import { ask, call, say, withPreamble } from '../support/scripted-model.js';
import type { Play } from '../support/scripted-model.js';

const ROOT = 'lango-orchestrator';
interface Completed {
  readonly tool: string;
  readonly key: string;
}

/** The tool calls whose results are among the first `count` events. */
function completedIn(run: MemoryRun, count: number): readonly Completed[] {
  const bodies = run.events.slice(0, count).map(({ body }) => body);
  return bodies.flatMap((body) =>
    body.type === 'tool-call' &&
    bodies.some((other) => other.type === 'tool-result' && other.step === body.step)
      ? [{ tool: body.tool, key: body.key }]
      : [],
  );
}

/** The number of events in the log before its closing one. */
function openLength(run: MemoryRun): number {
  return run.events.findLastIndex(({ body }) => body.type === 'run-end');
}

function ends(run: MemoryRun): number {
  return run.bodies('run-end').filter(({ state }) => state !== 'input-required').length;
}

function artifacts(run: MemoryRun): unknown {
  return Object.fromEntries(run.artifacts());
}

describe('after a crash at any event', () => {
  it.each<EffectClass>(['pure', 'keyed', 'queryable'])(
    'one agent with %s tools reaches the same end, and repeats nothing that was completed',
    async (effect) => {
      const log: Executed[] = [];
      const done = new Map<string, string>();
      const tools = ['fs_read', 'fs_list'].map((name) =>
        toolNamed(name, {
          log,
          effect,
          async execute(path, { key }) {
            done.set(key, `${name} ${path}`);
            return { content: `${name} ${path}` };
          },
          ...(effect === 'queryable'
            ? {
                async settle(_: unknown, { key }: { key: string }) {
                  const content = done.get(key);
                  return content === undefined ? undefined : { content };
                },
              }
            : {}),
        }),
      );
      const script: Play[] = [
        withPreamble('Looking.', call(['fs_read', { path: 'a' }], ['fs_list', { path: 'b' }], ['nope', {}])),
        call(['fs_read', { path: 'c' }]),
        say('All there.'),
      ];
      const { agent } = flat(script, { tools });
      const whole = MemoryRun.of('lango-agent', 'look');
      const end = await whole.perform(agent);
      expect(end).toEqual({ state: 'completed' });

      for (let count = 1; count <= openLength(whole); count += 1) {
        log.length = 0;
        const resumed = whole.resumed(count);
        expect(await resumed.perform(agent)).toEqual(end);
        expect(artifacts(resumed)).toEqual(artifacts(whole));
        expect(resumed.bodies('tool-result').map(({ result }) => result)).toHaveLength(4);
        expect(ends(resumed)).toBe(1);
        const repeated = completedIn(whole, count).filter(({ key }) => log.some((one) => one.key === key));
        expect(repeated).toEqual([]);
        if (effect === 'queryable') expect(new Set(log.map(({ key }) => key)).size).toBe(log.length);
      }
    },
  );

  it('one agent with an unsafe tool asks a person exactly when the outcome is unknown', async () => {
    const log: Executed[] = [];
    const tools = [toolNamed('exec', { log, effect: 'unsafe' })];
    const { agent } = flat([call(['exec', { path: 'a' }]), say('done')], { tools });
    const whole = MemoryRun.of('lango-agent', 'run it');
    await whole.perform(agent);
    for (let count = 1; count <= openLength(whole); count += 1) {
      log.length = 0;
      const begun = whole.events.slice(0, count).some(({ body }) => body.type === 'tool-call');
      const known = completedIn(whole, count).length > 0;
      const end = await whole.resumed(count).perform(agent);
      expect(end.state).toBe(begun && !known ? 'input-required' : 'completed');
      expect(log).toHaveLength(begun ? 0 : 1);
    }
  });

  it('one agent whose tool is gone keeps a recorded result, and refuses a call that was cut off', async () => {
    const script = [call(['exec_start', { path: 'a' }]), say('done')];
    const whole = MemoryRun.of('lango-agent', 'start it');
    await whole.perform(flat(script, { tools: [toolNamed('exec_start', { effect: 'unsafe' })] }).agent);
    for (let count = 1; count <= openLength(whole); count += 1) {
      const resumed = whole.resumed(count);
      expect(await resumed.perform(flat(script, { tools: [] }).agent)).toEqual({ state: 'completed' });
      const content = resumed.bodies('tool-result')[0]!.result.content;
      const isBegun = whole.events.slice(0, count).some(({ body }) => body.type === 'tool-call');
      const isKnown = completedIn(whole, count).length > 0;
      expect(content).toMatch(isKnown ? /^exec_start of a$/ : /^there is no function "exec_start"/);
      expect(content.includes('its outcome is unknown')).toBe(isBegun && !isKnown);
    }
  });

  it('one agent finds each message where it was when the model read it', async () => {
    const script = ['a', 'b', 'c'].map((path) => call(['fs_read', { path }]));
    const { agent, model } = flat([...script, say('done')], { tools: [toolNamed('fs_read')] });
    /** The task after a crash that left `count` results, and one more message. */
    const cutAfter = (run: MemoryRun, count: number, message: string): MemoryRun => {
      const results = run.events.filter(({ body }) => body.type === 'tool-result');
      return run.resumed(results[count - 1]!.seq).followedBy(message);
    };
    const first = MemoryRun.of('lango-agent', 'read all');
    await first.perform(agent);
    const second = cutAfter(first, 1, 'and say when');
    await second.perform(agent);
    const third = cutAfter(second, 2, 'and why');
    await third.perform(agent);
    const said = model.requests
      .at(-1)!
      .messages.map((each) => ('parts' in each ? textOf(each.parts) : each.role));
    const answered = ['assistant', 'results'];
    expect(said).toEqual([
      ...['read all', ...answered, 'and say when'],
      ...[...answered, 'and why', ...answered],
    ]);
  });

  it('one agent never makes a denied call', async () => {
    const log: Executed[] = [];
    const tools = [toolNamed('fs_rm', { log, danger: () => 'dangerous' })];
    const { agent } = flat([call(['fs_rm', { path: 'a' }]), say('left it')], { tools });
    const asked = MemoryRun.of('lango-agent', 'remove it');
    const { hash } = (await asked.perform(agent)).questions![0]!;
    const whole = asked.followedBy({
      ...{ id: 'no', role: 'user' },
      parts: [replyPart({ hash, decision: 'deny' })],
    });
    await whole.perform(agent);
    for (let count = asked.events.length + 1; count <= openLength(whole); count += 1) {
      const resumed = whole.resumed(count);
      expect(await resumed.perform(agent)).toEqual({ state: 'completed' });
      expect(resumed.answer()).toBe('left it');
    }
    expect(log).toEqual([]);
  });

  interface Scenario {
    readonly make: () => Team;
    readonly tasks: number;
    /** The author of the output, when that is not the orchestrator. */
    readonly author?: string;
  }
  const scenarios: Record<string, Scenario> = {
    'two at once, then one more': {
      tasks: 3,
      make: () =>
        team(
          {
            orchestrator: [
              call(ask('operator', 'read a'), ask('librarian', 'find b')),
              call(ask('planner', 'plan')),
              say('All three.'),
            ],
            operator: [call(['fs_read', { path: 'a' }]), say('A')],
            librarian: [call(['rag_query', { path: 'b' }]), say('B')],
            planner: [say('1. rest')],
          },
          { tools: [toolNamed('fs_read'), toolNamed('rag_query')] },
        ),
    },
    'a final one': {
      author: 'operator',
      tasks: 1,
      make: () =>
        team(
          {
            orchestrator: [withPreamble('I ask.', call(ask('operator', 'read a', true)))],
            operator: [withPreamble('I look.', call(['fs_read', { path: 'a' }])), say('It says hi.')],
          },
          { tools: [toolNamed('fs_read')] },
        ),
    },
    'a wrong name, a rejection, then the right one': {
      tasks: 2,
      make: () =>
        team(
          {
            orchestrator: [
              call(ask('nobody', 'x')),
              call(ask('planner', 'read a')),
              call(ask('operator', 'read a')),
              say('Found.'),
            ],
            planner: [call(['decline_request', { reason: 'I only plan.' }])],
            operator: [call(['fs_read', { path: 'a' }]), say('A')],
          },
          { tools: [toolNamed('fs_read')] },
        ),
    },
  };

  it.each(Object.entries(scenarios))(
    'an orchestrator reaches the same end with delegations: %s',
    async (_, { make, tasks, author }) => {
      const first = make();
      const whole = MemoryRun.of(ROOT, 'do it');
      const end = await whole.perform(first.root);
      expect(end).toEqual({ state: 'completed', ...(author === undefined ? {} : { author }) });
      const children = first.peers.requests.length;
      expect(first.peers.tasks).toBe(tasks);

      for (let count = 1; count <= openLength(whole); count += 1) {
        const resumed = whole.resumed(count);
        expect(await resumed.perform(first.root)).toEqual(end);
        expect(artifacts(resumed)).toEqual(artifacts(whole));
        for (const type of ['delegation-start', 'delegation-task', 'delegation-end'] as const) {
          expect(resumed.bodies(type)).toEqual(whole.bodies(type));
        }
        expect(ends(resumed)).toBe(1);
        expect(resumed.usage()).toEqual(whole.usage());
      }
      expect(first.peers.tasks).toBe(tasks);
      expect(first.peers.requests.length).toBeGreaterThan(children);
    },
  );

  it('an orchestrator whose sub-agent waits for an approval asks and does everything once', async () => {
    const log: Executed[] = [];
    const made = team(
      {
        orchestrator: [call(ask('operator', 'remove a')), say('It is gone.')],
        operator: [call(['fs_rm', { path: 'a' }]), say('removed')],
      },
      { tools: [toolNamed('fs_rm', { log, danger: () => 'dangerous' })] },
    );
    const begun = MemoryRun.of(ROOT, 'remove a');
    const asked: RunEnd = await begun.perform(made.root);
    for (let count = 1; count <= openLength(begun); count += 1) {
      expect(await begun.resumed(count).perform(made.root)).toEqual(asked);
    }
    expect(log).toEqual([]);

    const { hash } = asked.questions![0]!;
    const whole = begun.followedBy({
      ...{ id: 'yes', role: 'user' },
      parts: [replyPart({ hash, decision: 'approve' })],
    });
    expect(await whole.perform(made.root)).toEqual({ state: 'completed' });
    for (let count = begun.events.length + 1; count <= openLength(whole); count += 1) {
      const resumed = whole.resumed(count);
      expect(await resumed.perform(made.root)).toEqual({ state: 'completed' });
      expect(resumed.answer()).toBe('It is gone.');
      expect(resumed.usage()).toEqual(whole.usage());
    }
    expect(made.peers.tasks).toBe(1);
    expect(log).toHaveLength(1);
    expect(made.peers.taskOf('operator')!.inputs).toHaveLength(2);
  });

  it('an orchestrator keeps the recorded result of an agent that has left', async () => {
    const { root, peers } = team(
      { orchestrator: [call(ask('operator', 'read a')), say('A, it says.')], operator: [say('A')] },
      { tools: [toolNamed('fs_read')] },
    );
    const whole = MemoryRun.of(ROOT, 'read a');
    await whole.perform(root);
    peers.remove('operator');
    const types = whole.events.map(({ body }) => body.type);
    const known = whole.resumed(types.indexOf('delegation-end') + 1);
    expect(await known.perform(root)).toEqual({ state: 'completed' });
    expect(known.bodies('delegation-end')[0]!.result.content).toBe('A');
    expect(known.bodies('tool-result')).toEqual([]);

    const unknown = whole.resumed(types.indexOf('delegation-start') + 1);
    await unknown.perform(root);
    expect(unknown.bodies('delegation-end')[0]!.result.content).toContain(
      'operator is not available any more',
    );
  });

  it('one agent continues its limits from their counts before the crash', async () => {
    const same: Play[] = Array.from({ length: 9 }, () => call(['fs_read', { path: 'a' }]));
    const log: Executed[] = [];
    const { agent } = flat(same, { tools: [toolNamed('fs_read', { log })] });
    const whole = MemoryRun.of('lango-agent', 'loop');
    const end = await whole.perform(agent);
    expect(end.reason).toBe('limit-repeats');
    for (let count = 1; count <= openLength(whole); count += 1) {
      log.length = 0;
      expect(await whole.resumed(count).perform(agent)).toEqual(end);
      expect(log.length).toBeLessThanOrEqual(3);
    }
  });

  it('one agent stops at once when another process has taken the task over', async () => {
    const { agent } = flat([call(['fs_read', { path: 'a' }]), say('x')], { tools: [toolNamed('fs_read')] });
    const run = MemoryRun.of('lango-agent', 'x');
    run.fence();
    const error: unknown = await run.perform(agent).catch((thrown: unknown) => thrown);
    expect(isLangoError(error, 'fenced')).toBe(true);
  });
});
