import { expect } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { newId } from '../../../src/core/ids.js';
import type { JsonObject } from '../../../src/core/json.js';
import type { ServerOptions } from '../../../src/index.js';
import { call, say, ScriptedModel } from '../../support/scripted-model.js';
import { sendText, startServer } from '../../support/server.js';
import type { Quirk } from '../quirk.js';
import { ended, openPeer, type RawPeer } from '../raw-peer.js';

const A2A = { wire: 'A2A', vendor: 'A2A servers' } as const;
const CONTEXTS = { ...A2A, class: 12, source: 'a2aproject/A2A#884' } as const;
const DATA = { ...A2A, class: 11, source: 'agno-agi/agno#5874' } as const;
const PLACES = { ...A2A, class: 12, source: 'agentic-community/mcp-gateway-registry#1724' } as const;

type Settings = NonNullable<ServerOptions['settings']>;

/** Delegates to the peer once for each of these messages, in one conversation. Resolves with what the model read. */
async function delegate(
  peer: RawPeer,
  messages: readonly string[],
  home?: string,
): Promise<readonly string[]> {
  const delegation = call(['transfer_to_agent', { agent_name: 'helper', request: 'seven' }]);
  // A conversation that goes on has earlier turns.
  const model = new ScriptedModel({
    orchestrator: Array(4)
      .fill([delegation, say('Done.')])
      .flat(),
  });
  const remoteAgents = [{ name: 'helper', url: peer.url, allowPrivate: true }];
  const settings: Settings = { server: { port: 0 }, a2a: { enabled: true, remoteAgents } };
  const server = await startServer({ model, settings, ...(home !== undefined && { home }) });
  try {
    for (const message of messages) await sendText(server, message, { contextId: CONTEXT });
  } finally {
    await server.stop();
  }
  return model.requests.flatMap(({ messages: sent }) => {
    const newest = sent.at(-1);
    return newest?.role === 'results' ? newest.results.map(({ content }) => content) : [];
  });
}

const CONTEXT = newId();

/** Runs `use` with a peer, and ends the peer. */
async function withPeer(script: Parameters<typeof openPeer>[0], use: (peer: RawPeer) => Promise<void>) {
  const peer = await openPeer(script);
  try {
    await use(peer);
  } finally {
    await peer.close();
  }
}

const message = (contextId: string): { readonly result: JsonObject } => ({
  result: { message: { messageId: newId(), role: 'ROLE_AGENT', contextId, parts: [{ text: 'SEVEN' }] } },
});
const refusal = (code: number, text: string) => ({ error: { code, message: text } });

const OWN_CONTEXTS: readonly Quirk[] = [
  ...[ended, message].map((answer, at): Quirk => ({
    ...CONTEXTS,
    id: `context-own-${at + 1}`,
    quirk: `The agent answers ${at === 0 ? 'with a task' : 'with a message'} in a context of its own.`,
    right: 'Its answer is used, and its id comes back with the next request of the conversation.',
    check: () =>
      withPeer({ answer: () => answer('server-made') }, async (peer) => {
        expect(await delegate(peer, ['one', 'two', 'three'])).toEqual(['SEVEN', 'SEVEN', 'SEVEN']);
        expect(peer.contexts).toEqual([CONTEXT, 'server-made', 'server-made']);
      }),
  })),
  {
    ...CONTEXTS,
    id: 'context-restart',
    source: 'a2aproject/A2A#1317',
    quirk: 'The agent answers in a context of its own, and this server starts again.',
    right: 'Its id is read from the journal.',
    check: () =>
      withPeer({ answer: () => ended('server-made') }, async (peer) => {
        const home = await mkdtemp(path.join(tmpdir(), 'lango-contexts-'));
        await delegate(peer, ['one'], home);
        await delegate(peer, ['two'], home);
        await rm(home, { recursive: true, force: true });
        expect(peer.contexts).toEqual([CONTEXT, 'server-made']);
      }),
  },
  ...(
    [
      [-32602, 'Unknown contextId'],
      [-32001, 'Session not found'],
    ] as const
  ).map(([code, text], at): Quirk => ({
    ...CONTEXTS,
    id: `context-refused-${at + 1}`,
    source: 'microsoft/agent-framework#5353',
    quirk: `The agent refuses a context id that it did not make ("${text}").`,
    right: 'It is asked once more without an id, and its own id is used from then on.',
    check: () =>
      withPeer(
        { answer: (id) => (id === '' || id === 'made' ? ended('made') : refusal(code, text)) },
        async (peer) => {
          expect(await delegate(peer, ['one', 'two'])).toEqual(['SEVEN', 'SEVEN']);
          expect(peer.contexts).toEqual([CONTEXT, '', 'made']);
        },
      ),
  })),
  {
    ...CONTEXTS,
    id: 'context-refused-always',
    quirk: 'The agent refuses every request, and names the context as the reason.',
    right: 'It is asked once more, and then the model reads the reason.',
    check: () =>
      withPeer({ answer: () => refusal(-32602, 'No context is free') }, async (peer) => {
        expect(await delegate(peer, ['one'])).toEqual([expect.stringContaining('No context is free')]);
        expect(peer.contexts).toEqual([CONTEXT, '']);
      }),
  },
  {
    ...CONTEXTS,
    id: 'context-other-refusal',
    quirk: 'The agent refuses a request for another reason.',
    right: 'It is not asked again.',
    check: () =>
      withPeer({ answer: () => refusal(-32602, 'No numbers today') }, async (peer) => {
        expect(await delegate(peer, ['one'])).toEqual([expect.stringContaining('No numbers today')]);
        expect(peer.contexts).toEqual([CONTEXT]);
      }),
  },
];

const parts = (...given: readonly JsonObject[]): JsonObject => ({
  artifacts: [{ artifactId: 'a', parts: given }],
});
const withStatus = (state: string, ...given: readonly JsonObject[]): JsonObject => ({
  artifacts: [],
  status: { state, message: { messageId: 'm', role: 'ROLE_AGENT', parts: given } },
});

const DATA_PARTS: readonly Quirk[] = Object.entries({
  alone: [parts({ data: { n: 'ALPHA' } }), /ALPHA/, 'answers with data alone'],
  beside: [parts({ text: 'Two.' }, { data: ['ALPHA'] }), /Two\.\n.*ALPHA/, 'answers with data beside a text'],
  same: [
    parts({ text: '{"n": 1}' }, { data: { n: 1 } }),
    /^\{"n": 1\}\n\[delivered/,
    'says its data as text too',
  ],
  large: [parts({ data: { n: 'z'.repeat(60_000) } }), /bytes left out/, 'answers with much data'],
  status: [
    withStatus('TASK_STATE_COMPLETED', { data: { n: 'ALPHA' } }),
    /ALPHA/,
    'puts its data into the status that ends the task',
  ],
  failure: [
    withStatus('TASK_STATE_FAILED', { data: { why: 'ALPHA' } }),
    /failed: .*ALPHA/s,
    'says why it failed as data',
  ],
  empty: [withStatus('TASK_STATE_COMPLETED'), /finished without any text/, 'answers without any part'],
  none: [{ artifacts: null, history: null }, /finished without any text/, 'sends null in place of lists'],
} as Record<string, readonly [JsonObject, RegExp, string]>).map(([id, [more, reads, quirk]]) => ({
  ...DATA,
  id: `peer-data-${id}`,
  quirk: `The agent ${quirk}.`,
  right: 'The model reads it once, bounded.',
  check: () =>
    withPeer({ answer: (context) => ended(context, more) }, async (peer) => {
      expect(await delegate(peer, ['one'])).toEqual([expect.stringMatching(reads)]);
    }),
}));

const CARDS: readonly Quirk[] = [
  {
    ...PLACES,
    id: 'card-at-root',
    quirk: 'An agent is below a path, and its card at the root of the host.',
    right: 'The card is found.',
    check: () =>
      withPeer({ path: '/a2a', cardAt: '', answer: (id) => ended(id) }, async (peer) => {
        expect(await delegate(peer, ['one'])).toEqual(['SEVEN']);
      }),
  },
  {
    ...PLACES,
    id: 'card-of-other',
    quirk: 'The card at the root is that of another agent of the host.',
    right: 'It is not taken for the card of this one.',
    check: () =>
      withPeer({ path: '/a2a', cardAt: '', named: '/other', answer: (id) => ended(id) }, async (peer) => {
        expect(await delegate(peer, ['one'])).not.toContain('SEVEN');
        expect(peer.asked.filter((place) => place.startsWith('POST'))).toEqual([]);
      }),
  },
];

export const REMOTE_AGENTS: readonly Quirk[] = [...OWN_CONTEXTS, ...DATA_PARTS, ...CARDS];
