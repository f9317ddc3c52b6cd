import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { OldServer } from '../a2a/client/old-server.js';
import { startOldServer } from '../a2a/client/old-server.js';
import { ScriptedModel, ask, call, resultsIn, say } from '../support/scripted-model.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import { userMessage } from '../support/a2a-requests.js';
import { codeOf } from '../../src/core/decisions.js';
import { decide, sendText, untilEnded, withServer } from '../support/server.js';
import type { Outcome, TestServer } from '../support/server.js';
import { describeWith, startPeer } from './framework.js';
import type { FrameworkServer } from './framework.js';

/**
 * Agents of other frameworks as sub-agents of a whole server, whose orchestrator calls them once and repeats the
 * result.
 */

let remote: FrameworkServer | undefined;
afterEach(() => remote?.stop());

/** The code in a question. */
function codeIn({ end }: Outcome): string {
  return /approve (\w{4})/.exec(end.text)![1]!;
}

type Use = (server: TestServer, model: ScriptedModel) => Promise<void>;

async function withRemote(program: string, use: Use): Promise<void> {
  remote = await startPeer(program, `${program}.mjs`);
  await withAgentAt({ url: remote.url }, 'go', use);
}

interface PeerSettings {
  readonly url: string;
  readonly relocate?: boolean;
  readonly owners?: 'shared';
  /** Further settings of the server. */
  readonly more?: object;
}

async function withAgentAt({ more, ...settings }: PeerSettings, request: string, use: Use): Promise<void> {
  const model = new ScriptedModel({ orchestrator: [call(ask('remote', request)), say('Done.')] });
  const peer = { name: 'remote', allowPrivate: true, ...settings };
  const a2a = { enabled: true, remoteAgents: [peer] };
  await withServer({ model, settings: { server: { port: 0 }, a2a, ...more } }, async (server) => {
    await use(server, model);
  });
}

describeWith('strands', () => {
  it('a card of version 0.2.0 is called in the form of 0.3', async () => {
    await withRemote('strands', async (server, model) => {
      await sendText(server, 'ask it');
      expect(resultsIn(model.asked('orchestrator')[1])).toEqual(['Strands did go.']);
    });
  });
});

describeWith('voltagent', () => {
  it('results without kind and after record separators are read, from a card without description', async () => {
    await withRemote('voltagent', async (server, model) => {
      await sendText(server, 'ask it');
      expect(resultsIn(model.asked('orchestrator')[1])).toEqual(['Volt did it.']);
    });
  });
});

describeWith('mastra', () => {
  it.each([
    ['approve', '"deleted":"/srv/data"'],
    ['deny', 'not approved'],
  ])(
    'its call is asked about like one of our own, and gets the decision "%s" in its form',
    async (word, result) => {
      await withRemote('mastra', async (server, model) => {
        const asked = await sendText(server, 'ask it');
        expect(asked.end.state).toBe('input-required');
        expect(asked.end.text).toMatch(/delete_files[^]*\/srv\/data[^]*Reply: approve \w{4}/);
        const told = await sendText(server, 'yes', { taskId: asked.taskId });
        expect(told.end).toMatchObject({ state: 'input-required', questions: asked.end.questions });
        const { end } = await sendText(server, `${word} ${codeIn(asked)}`, { taskId: asked.taskId });
        expect(end).toMatchObject({ state: 'completed', text: 'Done.' });
        expect(resultsIn(model.asked('orchestrator')[1])).toEqual([expect.stringContaining(result)]);
      });
    },
  );
});

describe('a remote agent on a stock executor of the 0.3 line', () => {
  let old: OldServer;
  beforeEach(async () => void (old = await startOldServer('JSONRPC')));
  afterEach(() => old.close());

  it.each([
    ['its error, which comes under another task id', 'throw', /failed: .*the disk is full/],
    ['a result that comes after its end', 'late', /^better late$/],
  ])('gives the orchestrator %s', async (_, request, wanted) => {
    await withAgentAt({ url: old.origin }, request, async (server, model) => {
      await sendText(server, 'ask it');
      expect(resultsIn(model.asked('orchestrator')[1])[0]).toMatch(wanted);
    });
  });

  it("has a call in Gemini CLI's messages shown in full, and approved by its code only", async () => {
    await withAgentAt({ url: old.origin }, 'gemini', async (server, model) => {
      const asked = await sendText(server, 'ask it');
      expect(asked.end.state).toBe('input-required');
      expect(asked.end.text).toMatch(/I have to run a command\.[^]*"command": "rm -rf build"/);
      const question = {
        kind: 'approval',
        tool: 'run_shell_command',
        arguments: { command: 'rm -rf build' },
      };
      expect(asked.end.questions).toMatchObject([question]);
      const told = await sendText(server, 'yes', { taskId: asked.taskId });
      expect(told.end).toMatchObject({ state: 'input-required', questions: asked.end.questions });
      await sendText(server, `approve ${codeIn(asked)}`, { taskId: asked.taskId });
      expect(resultsIn(model.asked('orchestrator')[1])).toEqual([
        'you said [{"callId":"shell-1","outcome":"proceed_once"}]',
      ]);
    });
  });

  it('gets the decisions on two calls at once, each by its own code', async () => {
    await withAgentAt({ url: old.origin }, 'gemini twice', async (server, model) => {
      const asked = await sendText(server, 'ask it');
      const [first, second] = asked.end.questions;
      const half = await sendText(server, `approve ${codeOf(second!.hash)}`, { taskId: asked.taskId });
      expect(half.end).toMatchObject({ state: 'input-required', questions: [first] });
      await decide(server, half, { decision: 'deny' });
      expect(resultsIn(model.asked('orchestrator')[1])).toEqual([
        'you said [{"callId":"shell-1","outcome":"cancel"},{"callId":"shell-2","outcome":"proceed_once"}]',
      ]);
    });
  });

  it('gets a denial in its form when nobody replies in time', async () => {
    const more = { approval: { expirySeconds: 0.5 } };
    await withAgentAt({ url: old.origin, owners: 'shared', more }, 'gemini', async (server, model) => {
      const asked = await sendText(server, 'ask it');
      await untilEnded(server, asked.taskId);
      expect(resultsIn(model.asked('orchestrator')[1])).toEqual([
        'you said [{"callId":"shell-1","outcome":"cancel"}]',
      ]);
    });
  });

  it('gets a decision only of a caller with the scope of approval.by', async () => {
    const issuer = await startIssuer();
    const auth = { mode: 'jwt', jwt: { issuer: issuer.url, audience: [AUDIENCE] } };
    const more = { auth, approval: { by: 'lango.approve' } };
    await withAgentAt({ url: old.origin, owners: 'shared', more }, 'gemini', async ({ address }, model) => {
      const post = async (scope: string, message: object): Promise<Response> =>
        fetch(`${address.origin}/message:send`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            authorization: `Bearer ${await issuer.token({ sub: 'alice', scope })}`,
          },
          body: JSON.stringify(message),
        });
      const asked = await (await post('lango.use', userMessage('ask it'))).text();
      const taskId = /"id":"([^"]+)"/.exec(asked)![1]!;
      const words = /approve \w{4}/.exec(asked)![0];
      const refused = await post('lango.use', userMessage(words, { taskId }));
      expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('approval.by')]);
      expect(model.asked('orchestrator')).toHaveLength(1);
      expect((await post('lango.approve', userMessage(words, { taskId }))).status).toBe(200);
      expect(resultsIn(model.asked('orchestrator')[1])).toEqual([expect.stringContaining('proceed_once')]);
    });
    await issuer.close();
  });

  it('is refused with the working address when its card names localhost, and called there with relocate', async () => {
    const url = old.origin.replace('127.0.0.1', 'localhost');
    await withAgentAt({ url }, 'hello', async (server) => {
      const skipped = server.log.lines.find((line) => JSON.stringify(line).includes('agent skipped'));
      expect(JSON.stringify(skipped)).toMatch(new RegExp(`set url to ${old.origin} .*relocate: true`));
    });
    await withAgentAt({ url, relocate: true }, 'hello', async (server, model) => {
      await sendText(server, 'ask it');
      expect(resultsIn(model.asked('orchestrator')[1])).toEqual(['you said hello']);
    });
  });
});
