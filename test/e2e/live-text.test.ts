import { afterEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { OUR_EXTENSIONS } from '../../src/core/extensions.js';
import type { Run, RunEnd } from '../../src/core/run.js';
import { rowsOfFile } from '../support/raw-rows.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import { ScriptedModel, ask, call, say } from '../support/scripted-model.js';
import type { TestServer } from '../support/server.js';
import { startServer } from '../support/server.js';

/** Subscribers see the text of a run before it is in the journal, and get its number later without the text. */

let server: TestServer;
let home: string;
afterEach(async () => {
  await server.stop();
  await rm(home, { recursive: true, force: true });
});

const LONG = ' and so on, as nobody needs to keep twice'.repeat(4);

/** Says two pieces, and waits before the second and after it. */
function speaker(isMessage?: true) {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const body = { type: 'text-delta', artifactId: 'answer', ...(isMessage && { isMessage }) } as const;
  const speak = async (run: Run): Promise<RunEnd> => {
    run.emit({ ...body, text: 'one', replace: true });
    await gates[0].promise;
    run.emit({ ...body, text: ` two${LONG}`, replace: false });
    await gates[1].promise;
    run.emit({ ...body, text: ' three', replace: false });
    return { state: 'completed' };
  };
  return { gates, speak };
}

async function serve(options: Parameters<typeof startServer>[0]): Promise<void> {
  home = await mkdtemp(path.join(tmpdir(), 'lango-live-'));
  server = await startServer({ home, ...options });
}

interface Seen {
  readonly id: number | undefined;
  readonly text: string;
}

/** Yields the texts of a stream, each with its number. */
async function* texts(agent: string): AsyncGenerator<Seen> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'go' }] };
  const response = await server.fetch(`/agents/${agent}/message:stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-extensions': OUR_EXTENSIONS.join(',') },
    body: JSON.stringify({ message }),
  });
  let rest = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks.filter((block) => block.includes('data: '))) {
      const id = /^id: (\d+)$/m.exec(block)?.[1];
      const { artifactUpdate, statusUpdate } = JSON.parse(/^data: (.*)$/m.exec(block)![1]!) as {
        readonly artifactUpdate?: {
          readonly artifact: { readonly parts: readonly { readonly text?: string }[] };
        };
        readonly statusUpdate?: {
          readonly metadata?: Record<
            string,
            { readonly activity?: { readonly id?: string; readonly text?: string } }
          >;
        };
      };
      const { activity } = statusUpdate?.metadata?.['urn:lango:a2a:author:v1'] ?? {};
      const said = activity?.id === undefined ? undefined : (activity.text ?? '');
      const text = artifactUpdate?.artifact.parts.map((part) => part.text ?? '').join('') ?? said;
      if (text !== undefined) yield { id: id === undefined ? undefined : Number(id), text };
    }
  }
}

/** Reads a stream. Lets the agent go on once its first piece has a number, and once the second was seen. */
async function read(agent: string, { gates }: ReturnType<typeof speaker>): Promise<readonly Seen[]> {
  const seen: Seen[] = [];
  for await (const text of texts(agent)) {
    seen.push(text);
    if (seen.some(({ id }) => id !== undefined)) gates[0].resolve();
    if (text.text.includes(' two')) gates[1].resolve();
  }
  return seen;
}

function assertLive(seen: readonly Seen[]): void {
  // Nothing but what the stream showed lets the agent go on, so this piece was shown before it was durable.
  expect(seen.filter(({ text }) => text.includes(' two')).map(({ id }) => id)).toEqual([undefined]);
  expect(seen.map(({ text }) => text).join('')).toBe(`one two${LONG} three`);
  const numbers = seen.flatMap(({ id }) => (id === undefined ? [] : [id]));
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
}

describe('a stream', () => {
  it.each([undefined, true as const])('shows text before it is durable (message: %s)', async (isMessage) => {
    const told = speaker(isMessage);
    await serve({ agents: [scriptedAgent('speaker', told.speak)] });
    assertLive(await read('speaker', told));
  });

  it.each([true, false])(
    'shows the text of an agent below before it is durable, which is kept once (final: %s)',
    async (final) => {
      const told = speaker();
      const model = new ScriptedModel({
        orchestrator: [call(ask('speaker', 'work', final)), say('')],
      });
      await serve({ agents: [scriptedAgent('speaker', told.speak)], model });
      assertLive(await read('lango-orchestrator', told));
      const kept = rowsOfFile(path.join(home, 'lango.db')).flatMap(({ rows }) => rows.flat());
      // In the entry below, and in the result that the model is sent.
      expect(kept.join().split(` two${LONG}`)).toHaveLength(3);
    },
  );
});
