import { text as textOf } from 'node:stream/consumers';
import { cardAt, give, Stranger } from '../stranger.js';

/** Characters that are invisible or control a terminal. */
export const UNSEEN: readonly string[] = [
  ...['\u202e', '\u2066', '\u200b', '\u2060', '\u{e0041}', '\ufeff', '\u3164', '\u115f', '\u180e'],
  ...['\u{e0101}', '\u{1d173}', '\u2028', '\u001b', '\u0007', '\u009b'],
];

/** A remote agent whose output contains the hidden character that it is asked for. */
export async function startPeer(): Promise<Stranger> {
  const peer = await Stranger.open();
  peer.answer = (request, response) => {
    if (request.method === 'GET') return give(response, cardAt(peer.url));
    void textOf(request).then((body) => {
      const letter = UNSEEN[Number(/letter (\d+)/.exec(body)?.[1] ?? 0)] ?? '';
      const [, id = 'null'] = /"id":("[^"]*"|\d+)/.exec(body) ?? [];
      const [, contextId = 'c'] = /"contextId":"([^"]+)"/.exec(body) ?? [];
      const state = body.includes('in a question') ? 'TASK_STATE_INPUT_REQUIRED' : 'TASK_STATE_COMPLETED';
      const parts = [{ text: `pay${letter}ee` }, { data: { [`to${letter}`]: `me${letter}` } }];
      const message = { messageId: crypto.randomUUID(), role: 'ROLE_AGENT', parts };
      const artifacts = [{ artifactId: 'a', name: `n${letter}`, parts }];
      const task = { id: crypto.randomUUID(), contextId, status: { state, message }, artifacts };
      const event = { jsonrpc: '2.0', id: JSON.parse(id) as unknown, result: { task } };
      give(response, `data: ${JSON.stringify(event)}\n\n`, 'text/event-stream');
    });
  };
  return peer;
}
