import { afterEach, describe, expect, it } from '@jest/globals';
import type { HostileCall, HostilePeer } from '../support/hostile-peer.js';
import { startHostilePeer, writeForever } from '../support/hostile-peer.js';
import { ScriptedModel, ask, call, resultsIn, say } from '../support/scripted-model.js';
import type { TestServer } from '../support/server.js';
import { sendText, startServer } from '../support/server.js';
import { unheld } from '../support/watchdog.js';

/**
 * Peers that send too much, too fast or malformed data: the delegation fails with a reason, and the task above
 * continues.
 */

const KIB = 1024;
let peer: HostilePeer | undefined;
let server: TestServer | undefined;
async function stop(): Promise<void> {
  await server?.stop();
  server = undefined;
  await peer?.close();
  peer = undefined;
}
afterEach(stop);

const status = (state: string, more: object = {}): object => ({
  statusUpdate: { taskId: 'far', status: { state: `TASK_STATE_${state}`, ...more } },
});
const said = (text: string, messageId: string): object => ({
  message: { messageId, role: 'ROLE_AGENT', parts: [{ text }] },
});
const artifact = (more: object, append = false): object => ({
  artifactUpdate: { taskId: 'far', artifact: { artifactId: 'a', ...more }, append },
});
const completed = status('COMPLETED');

interface Asked {
  readonly streaming?: boolean;
  readonly final?: boolean;
  readonly a2a?: object;
  readonly tasks?: object;
  readonly agent?: object;
}

/** Makes an orchestrator delegate to the peer. Returns the result that its model got, and the end of its own task. */
async function delegate(script: (call: HostileCall) => void, asked: Asked = {}) {
  peer = await startHostilePeer(script, asked);
  const remoteAgents = [{ name: 'stranger', url: peer.url, allowPrivate: true }];
  server = await startServer({
    settings: {
      a2a: { enabled: true, remoteAgents, ...asked.a2a },
      tasks: asked.tasks ?? {},
      agent: asked.agent ?? {},
    },
    model: new ScriptedModel({
      orchestrator: [
        call(ask('stranger', 'go', asked.final)),
        (request) => say(`told: ${resultsIn(request)[0]}`),
      ],
    }),
  });
  const { end } = await sendText(server, 'ask the stranger');
  return { state: end.state, text: end.text };
}

describe('a delegation to a peer that sends much', () => {
  it.each([{ final: true }, { final: false }])('succeeds with a long text (final: $final)', async (asked) => {
    const long = 'é\u0001'.repeat(150 * KIB);
    const { state, text } = await delegate(({ response, event, stream }) => {
      stream();
      response.write(event(status('WORKING', said(long, 'm1'))));
      response.write(event(artifact({ parts: [{ text: long }] })));
      response.end(event(completed));
    }, asked);
    expect(state).toBe('completed');
    if (asked.final) expect(text).toBe(long);
    else expect(text).toMatch(/^told: é.*bytes left out/s);
  });

  const file = (kib: number): object => ({
    parts: [{ raw: 'A'.repeat(kib * KIB), filename: 'a.bin', mediaType: 'application/octet-stream' }],
  });
  const question = (kib: number): object => said('?'.repeat(kib * KIB), 'm1');
  it.each([
    ['a file', artifact(file(1_500))],
    ['a name', artifact({ ...file(1), name: 'n'.repeat(1_500 * KIB) })],
    ['an id', artifact({ ...file(1), artifactId: 'n'.repeat(1_500 * KIB) })],
    ['a question', status('INPUT_REQUIRED', question(1_500))],
  ])('fails at %s that is too large for a journal event', async (_what, event) => {
    const { state, text } = await delegate((call) => {
      call.stream();
      call.response.write(call.event(event));
    });
    expect(state).toBe('completed');
    expect(text).toMatch(/^told: stranger failed: .*(more than|too long)/);
    expect(peer?.methods).toEqual(['SendStreamingMessage', 'CancelTask']);
  });

  it('succeeds with more artifact names than a result can hold', async () => {
    const { state, text } = await delegate(({ response, event, stream }) => {
      stream();
      for (let n = 0; n < 2_000; n += 1) {
        response.write(event(artifact({ ...file(1), artifactId: `a${n}`, name: 'n'.repeat(500) })));
      }
      response.end(event(completed));
    });
    expect(state).toBe('completed');
    expect(text).toMatch(/^told: stranger finished/);
  });
});

describe('a delegation to a peer that sends fast', () => {
  it.each(['\n', ':\n\n', ': a comment\n', 'id: 1\n', 'data:\n', '\r\n', '\u001e'])(
    'ends in time after 100,000 times %j',
    async (line) => {
      const lines = line.repeat(100_000);
      const { result } = await unheld(async () => {
        const told = await delegate(({ response, event, stream }) => {
          stream();
          response.write(lines);
          response.end(event(completed));
        });
        await stop();
        return told;
      });
      expect(result.state).toBe('completed');
    },
  );

  it.each([
    ['statuses', (n: number) => status('WORKING', said(`step ${n}`, `m${n}`))],
    ['words', () => artifact({ parts: [{ text: 'word ' }] }, true)],
    ['files', (n: number) => artifact({ artifactId: `a${n}`, parts: [{ data: { n } }] })],
    ['nothing new', () => status('WORKING')],
  ])('fails when the peer never stops sending %s', async (_what, eventOf) => {
    const { state, text } = await delegate(({ response, event, stream }) => {
      stream();
      let n = 0;
      void writeForever(response, () => event(eventOf((n += 1))).repeat(1));
    });
    expect(state).toBe('completed');
    expect(text).toMatch(/^told: stranger failed: .*more than/);
    expect(peer?.methods).toEqual(['SendStreamingMessage', 'CancelTask']);
  });

  it('fails before it fills the journal of the task above', async () => {
    const { state, text } = await delegate(
      ({ response, event, stream }) => {
        stream();
        for (let n = 0; n < 200; n += 1) response.write(event(status('WORKING', said(`${n}`, `m${n}`))));
      },
      { tasks: { events: 100 } },
    );
    expect(state).toBe('completed');
    expect(text).toMatch(/^told: stranger failed: .*tasks\.events/);
  });

  it('fails by the time limit when each stream ends before its task: the peer is polled once a second', async () => {
    let streams = 0;
    const { state, text } = await delegate(
      ({ response, event, stream }) => {
        stream();
        response.end(event(status('WORKING', said(`${(streams += 1)}`, `m${streams}`))));
      },
      { agent: { limits: { seconds: 5 } } },
    );
    expect(state).toBe('completed');
    expect(text).toMatch(/^told: stranger failed: .*did not finish in time/);
    expect(streams).toBeLessThan(12);
    expect(peer?.methods.at(-1)).toBe('CancelTask');
  });

  it.each(['3600', new Date(Date.now() + 3_600_000).toUTCString()])(
    'fails at once when the peer asks for a long pause: Retry-After: %s',
    async (wanted) => {
      const { state, text } = await delegate(({ response }) => {
        response.writeHead(429, { 'retry-after': wanted }).end();
      });
      expect(state).toBe('completed');
      expect(text).toMatch(/^told: stranger failed: .*It asks for a pause of 3\d\d\d s/);
      expect(peer?.methods).toEqual(['SendStreamingMessage']);
    },
  );
});

describe('a delegation to a slow or malformed peer', () => {
  it.each([
    ['comments', ': still here\n\n'],
    ['the same', undefined],
    ['bytes of an event without an end', 'data: '],
  ])('fails by the idle limit when the peer sends nothing but %s', async (_what, bytes) => {
    const { state, text } = await delegate(
      ({ response, event, stream }) => {
        stream();
        const drip = setInterval(() => response.write(bytes ?? event(status('WORKING'))), 50);
        response.on('close', () => clearInterval(drip));
      },
      { a2a: { idleSeconds: 1 } },
    );
    expect(state).toBe('completed');
    expect(text).toMatch(/^told: stranger failed: .*nothing new for 1 s/);
    expect(peer?.methods).toEqual(['SendStreamingMessage', 'CancelTask']);
  });

  it('fails when the peer never responds to the request', async () => {
    const { state, text } = await delegate(() => undefined, { a2a: { idleSeconds: 1 } });
    expect(state).toBe('completed');
    expect(text).toMatch(/^told: stranger failed: /);
  });

  it.each([
    ['task', { taskId: 'other' }],
    ['context', { contextId: 'other' }],
  ])('fails when the peer continues under the id of another %s', async (kind, id) => {
    const { state, text } = await delegate(({ response, event, stream }) => {
      // Its first event may name a context of its own, which it keeps to.
      stream({ task: { id: 'far', contextId: 'its-own', status: { state: 'TASK_STATE_WORKING' } } });
      const { statusUpdate } = completed as { readonly statusUpdate: object };
      response.end(event({ statusUpdate: { ...statusUpdate, ...id } }));
    });
    expect(state).toBe('completed');
    expect(text).toMatch(new RegExp(`^told: stranger failed: .*changed the ${kind} id`));
  });

  it('fails when the peer sends 100 MB as one event', async () => {
    let sent = 0;
    const { state, text } = await delegate(({ response, stream }) => {
      stream();
      response.write('data: ');
      void writeForever(response, () => {
        if ((sent += 64 * KIB) > 100 * KIB * KIB) response.destroy();
        return 'x'.repeat(64 * KIB);
      });
    });
    expect(state).toBe('completed');
    expect(text).toMatch(/^told: stranger failed: .*an event of more than/);
    expect(sent).toBeLessThan(64 * KIB * KIB);
    expect(peer?.methods).toEqual(['SendStreamingMessage', 'CancelTask']);
  });

  it('fails when the peer responds to a plain call with an endless stream', async () => {
    let sent = 0;
    const { state, text } = await delegate(
      ({ response }) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        void writeForever(response, () => {
          if ((sent += 64 * KIB) > 256 * KIB * KIB) response.destroy();
          return 'x'.repeat(64 * KIB);
        });
      },
      { streaming: false },
    );
    expect(state).toBe('completed');
    expect(text).toMatch(/^told: stranger failed: .*larger than/);
    expect(sent).toBeLessThan(64 * KIB * KIB);
  });
});

describe('a peer that asks again after each reply', () => {
  it.each(['INPUT_REQUIRED', 'AUTH_REQUIRED'])(
    'has its task given up after agent.limits.turns replies: %s',
    async (state) => {
      let asked = 0;
      peer = await startHostilePeer(({ response, event, stream }) => {
        stream();
        response.end(event(status(state, said(`Question ${(asked += 1)}?`, `m${asked}`))));
      });
      const remoteAgents = [{ name: 'stranger', url: peer.url, allowPrivate: true }];
      const model = new ScriptedModel({
        orchestrator: [call(ask('stranger', 'go')), (request) => say(`told: ${resultsIn(request)[0]}`)],
      });
      const agent = { limits: { turns: 3 } };
      server = await startServer({ settings: { agent, a2a: { enabled: true, remoteAgents } }, model });
      const first = await sendText(server, 'ask the stranger');
      let { end } = first;
      for (let replies = 0; replies < 9 && end.state !== 'completed'; replies += 1)
        ({ end } = await sendText(server, `reply ${replies}`, { taskId: first.taskId }));
      expect(end.text).toMatch(
        /^told: stranger failed: it asked again after 3 replies \(agent\.limits\.turns\)/,
      );
      expect(asked).toBe(4);
      expect(peer.methods.at(-1)).toBe('CancelTask');
    },
  );
});

describe('a card that never arrives', () => {
  it('delays nothing else: the server is ready, tasks run, and the agent joins once its card arrives', async () => {
    let answerCard: (() => void) | undefined;
    let isBack = false;
    const calm = ({ response, event, stream }: HostileCall): void => {
      stream();
      response.end(event(completed));
    };
    peer = await startHostilePeer(calm, {
      onCard: (answer) => {
        if (isBack) answer();
        else answerCard = answer;
      },
    });
    const remoteAgents = [{ name: 'stranger', url: peer.url, allowPrivate: true }];
    const model = new ScriptedModel({ orchestrator: [say('here')], operator: [say('here')] });
    const a2a = { enabled: true, remoteAgents, connectSeconds: 3_600, refreshSeconds: 1 };
    // A start that waits for the card would block this test forever.
    server = await startServer({ settings: { a2a }, model, waitsForPeers: false });
    expect((await server.fetch('/readyz')).status).toBe(200);
    expect((await sendText(server, 'are you there?')).end.text).toBe('here');
    expect(offered(model)).not.toContain('stranger');
    isBack = true;
    answerCard!();
    await server.log.saying('agent joined');
    await sendText(server, 'and now?');
    expect(offered(model)).toContain('stranger');
  });
});

describe('a card that changes during a task', () => {
  it('changes nothing for the task, which ends at the server where it began', async () => {
    let goOn: (() => void) | undefined;
    peer = await startHostilePeer(
      ({ response, event, stream }) => {
        stream();
        // The first stream breaks after the change, and the client finds the task again.
        if (goOn) response.end(event(status('COMPLETED', said('done by the old task', 'm2'))));
        else goOn = () => response.end(event(status('WORKING', said('halfway', 'm1'))));
      },
      { onCard: (answer) => answer(goOn && { description: 'Does other things now.', version: '2' }) },
    );
    const remoteAgents = [{ name: 'stranger', url: peer.url, allowPrivate: true }];
    const model = new ScriptedModel({
      orchestrator: [call(ask('stranger', 'go')), (request) => say(`told: ${resultsIn(request)[0]}`)],
    });
    server = await startServer({
      settings: { a2a: { enabled: true, remoteAgents, refreshSeconds: 1 } },
      model,
    });
    const sent = sendText(server, 'ask the stranger');
    await server.log.saying('agent changed its card');
    goOn!();
    expect((await sent).end.text).toMatch(/^told: .*done by the old task/s);
    expect(peer?.methods).toEqual(['SendStreamingMessage', 'SubscribeToTask']);
    expect(offered(model)).toContain('Does other things now.');
  });
});

/** The instruction and the functions of the newest request to the model. */
function offered(model: ScriptedModel): string {
  const { system, functions } = model.asked('orchestrator').at(-1)!;
  return JSON.stringify({ system, functions });
}
