import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { garbled, mutated } from './fuzz/mutate.js';
import { cases, converse, deep, type Case, type Outcome, type Scene } from './corpus.js';
import { give } from './stranger.js';
import { ANTHROPIC, CHAT, RESPONSES, type Wire } from './wires.js';

/** Responses of Chat Completions, the protocol of OpenAI and most local servers. */
export function chatStreams(): readonly Case[] {
  return casesOf(CHAT);
}

/** Responses of the Messages API of Anthropic. */
export function anthropicStreams(): readonly Case[] {
  return casesOf(ANTHROPIC);
}

/** Responses of the Responses API of OpenAI. */
export function responsesStreams(): readonly Case[] {
  return casesOf(RESPONSES);
}

type Give = (response: ServerResponse) => void;

function casesOf(wire: Wire): readonly Case[] {
  const written = (events: readonly unknown[]): Give => stream(wire.write(events));
  const whole = (events: readonly unknown[]): Give => written([...wire.begin, ...events, ...wire.end]);
  const fixed: Readonly<Record<string, Give>> = {
    ...Object.fromEntries(Object.entries(BYTES).map(([name, bytes]) => [name, stream(bytes)])),
    ...ANSWERS,
    ...Object.fromEntries(Object.entries(wire.odd).map(([name, events]) => [name, whole(events)])),
    'no end': written([...wire.begin, wire.text('hello')]),
    'an end and nothing else': written(wire.end),
    'everything twice': written([...wire.good, ...wire.good]),
    'from the end to the beginning': written([...wire.good].reverse()),
    'a call without an end': written([...wire.begin, wire.call(0, 'x', 'transfer_to_agent')]),
    '1,000 calls': whole(Array.from({ length: 1_000 }, (_, n) => wire.call(n, `c${n}`, 'none_such'))),
    '1,000 calls of one id': whole(
      Array.from({ length: 1_000 }, (_, n) => wire.call(n, 'same', 'none_such')),
    ),
    'calls whose arguments come in turns': whole([
      wire.call(0, 'a', 'transfer_to_agent'),
      wire.call(1, 'b', 'transfer_to_agent'),
      ...Array.from({ length: 2_000 }, (_, n) => wire.args(n % 2, 'x')),
    ]),
    'arguments of calls that never began': whole([wire.args(7, '{"a":1}'), wire.args(-1, '{}')]),
    'calls at odd places': whole([
      wire.call(2 ** 53, 'a', 'b'),
      wire.call(-1, 'b', 'c'),
      wire.call(1.5, 'c', 'd'),
    ]),
    'a call named 100 KB': whole([wire.call(0, 'a', 'n'.repeat(100_000))]),
    'a call with an id of 100 KB': whole([wire.call(0, 'i'.repeat(100_000), 'transfer_to_agent')]),
    'a call of a prototype': whole([wire.call(0, 'a', '__proto__'), wire.args(0, '{"__proto__":{"a":1}}')]),
    'a call with letters that turn': whole([wire.call(0, '\u202e', '\u001b[2J\u202e\u{e0041}')]),
    'arguments of 3 MB': whole([
      wire.call(0, 'a', 'transfer_to_agent'),
      ...Array.from({ length: 300 }, () => wire.args(0, '"a'.repeat(5_000))),
    ]),
    'arguments of 2 MB that are right': whole([
      wire.call(0, 'a', 'transfer_to_agent'),
      wire.args(0, JSON.stringify({ agent_name: 'x'.repeat(2_000_000) })),
    ]),
    'arguments nested': whole([wire.call(0, 'a', 'transfer_to_agent'), wire.args(0, deep(50_000))]),
    'arguments twice': whole([wire.call(0, 'a', 'transfer_to_agent'), wire.args(0, '{"a":1,"a":2}')]),
    'text of 3 MB': whole(Array.from({ length: 30 }, () => wire.text('word '.repeat(20_000)))),
    'text of 100,000 pieces': whole(Array.from({ length: 20_000 }, () => wire.text('x'))),
    'text of half letters': whole([wire.text('\ud83d'), wire.text('\ude00'), wire.text('\udc00')]),
    'text that drives a terminal': whole([wire.text('\u001b]0;x\u0007\u0000\u202e\u009b2J')]),
    'text without an end': endless(wire, () => wire.text('word '.repeat(2_000))),
    'letters without an end': endless(wire, () => wire.text('x')),
    'nothing without an end': endless(wire, () => ({})),
    'arguments without an end': endless(wire, (n) =>
      n === 0 ? wire.call(0, 'a', 'transfer_to_agent') : wire.args(0, 'x'.repeat(10_000)),
    ),
    'calls without an end': endless(wire, (n) => wire.call(n, `c${n}`, 'none_such')),
    'an answer in single bytes': singly(wire.write(wire.plain)),
    'an answer that is compressed': packed(Buffer.from(wire.write(wire.plain))),
    'a compressed answer of 200 MB': packed(Buffer.alloc(200_000_000, 'data: \n\n')),
  };
  return [
    { name: 'a right answer', isRight: true, act: (scene) => act(scene, wire, written(wire.plain)) },
    ...Object.entries(fixed).map(([name, answer]): Case => ({
      name,
      act: (scene) => act(scene, wire, answer),
    })),
    ...cases(
      90,
      (random) => mutated(wire.good, random),
      (scene, events) => act(scene, wire, written(Array.isArray(events) ? events : [events])),
    ),
    ...cases(
      40,
      (random) => garbled(wire.write(wire.good), random),
      (scene, bytes) => act(scene, wire, stream(bytes)),
    ),
  ];
}

/**
 * Sends a message while the vendor responds with `answer`, and another in the same conversation when it responds
 * correctly again.
 */
async function act(scene: Scene, wire: Wire, answer: Give): Promise<Outcome> {
  const { stranger } = scene;
  const contextId = crypto.randomUUID();
  stranger.answer = (_, response) => answer(response);
  const { outcome, said } = await converse(scene, 'hello', { contextId });
  if (typeof outcome !== 'string') return outcome;
  if (said.includes('key-of-nobody')) return { finding: 'an answer holds the key' };
  stranger.cut();
  stranger.answer = (_, response) => give(response, wire.write(wire.plain), EVENTS);
  const next = await converse(scene, 'and now?', { contextId });
  if (next.outcome !== 'taken') {
    const why = typeof next.outcome === 'string' ? next.said.slice(0, 300) : next.outcome.finding;
    return { finding: `the conversation cannot go on: ${why}` };
  }
  return outcome;
}

const EVENTS = 'text/event-stream';

function stream(bytes: string | Buffer): Give {
  return (response) => give(response, bytes, EVENTS);
}

function endless({ write, begin }: Wire, piece: (n: number) => object): Give {
  return (response) => {
    response.setHeader('content-type', EVENTS);
    response.write(write(begin));
    let count = 0;
    const more = (): void => {
      while (!response.destroyed && response.write(write([piece(count)]))) count += 1;
      count += 1;
    };
    response.on('drain', more);
    more();
  };
}

function singly(text: string): Give {
  return (response) => {
    response.setHeader('content-type', EVENTS);
    for (const byte of Buffer.from(text)) response.write(Buffer.of(byte));
    response.end();
  };
}

function packed(bytes: Buffer): Give {
  const small = gzipSync(bytes);
  return (response) => {
    response.setHeader('content-encoding', 'gzip');
    give(response, small, EVENTS);
  };
}

/** Streams that are invalid in every protocol. */
const BYTES: Readonly<Record<string, string | Buffer>> = {
  nothing: '',
  'an empty event': 'data: \n\n',
  'the end of another wire': 'data: [DONE]\n\n',
  'an event that is no object': 'data: 5\n\ndata: null\n\ndata: []\n\ndata: "x"\n\n',
  'an event that is no JSON': 'data: {"a":\n\n',
  'a nested event': `data: ${deep(60_000)}\n\n`,
  'an event of a prototype': 'data: {"__proto__":{"type":"error"},"type":"constructor"}\n\n',
  'an event of 7 MB': `data: "${'x'.repeat(7_000_000)}"\n\n`,
  'an event of 9 MB without an end': `data: "${'x'.repeat(9_000_000)}`,
  'an event of 100,000 lines': `${'data: x\n'.repeat(100_000)}\n`,
  '100,000 comments': ': x\n\n'.repeat(100_000),
  '5,000,000 empty lines': '\n'.repeat(5_000_000),
  '100,000 names': 'event: x\n'.repeat(100_000),
  '30,000 pings': 'event: ping\ndata: {"type":"ping"}\n\n'.repeat(30_000),
  'line feeds of 900 KB': '\r'.repeat(900_000),
  'other line feeds': 'data: {}\r\rdata: {}\r\n\r\ndata: {}\u2028\u0085\n',
  'broken letters': Buffer.from([
    0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0x0a, 0x0a,
  ]),
  zeros: Buffer.alloc(500_000),
  'an error': 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n',
  'an error of odd types':
    'event: error\ndata: {"type":"error","error":{"type":5,"code":[],"message":{"a":1}}}\n\n',
  'an error that is a text': 'event: error\ndata: {"type":"error","error":"key-of-nobody is wrong"}\n\n',
  'an error with a long message': `event: error\ndata: {"type":"error","error":{"message":"${'x'.repeat(900_000)}"}}\n\n`,
  'an error named like a prototype': 'event: error\ndata: {"type":"error","error":{"type":"__proto__"}}\n\n',
};

const status =
  (code: number, body: string, headers: Readonly<Record<string, string>> = {}): Give =>
  (response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(body);
  };

function endlessBody(code: number, type: string, piece: string): Give {
  return (response) => {
    response.writeHead(code, { 'content-type': type });
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', more);
    more();
  };
}

/** Responses that are no stream. */
const ANSWERS: Readonly<Record<string, Give>> = {
  'a body without an end': endlessBody(200, 'application/json', ' '.repeat(100_000)),
  'an error without an end': endlessBody(500, 'application/json', 'x'.repeat(100_000)),
  'an error without an end, as a stream': endlessBody(400, EVENTS, 'data: x\n\n'.repeat(10_000)),
  'a page without an end': endlessBody(200, 'text/html', '<p>'.repeat(10_000)),
  'a body of 9 MB': (response) => give(response, `{"a":"${'x'.repeat(9_000_000)}"}`),
  'a nested body': (response) => give(response, deep(500_000)),
  'a body that is no JSON': (response) => give(response, '{"choices":'),
  'a body that is a list': (response) => give(response, '[]'),
  'an error of 9 MB': status(400, `{"error":{"message":"${'x'.repeat(9_000_000)}"}}`),
  'a nested error': status(400, `{"error":${deep(50_000)}}`),
  'an error that tells the key': status(401, '{"error":{"message":"key-of-nobody is wrong"}}'),
  'an error of odd types': status(400, '{"error":{"type":[],"code":{},"message":5}}'),
  'an overload that asks for years': status(529, '{}', { 'retry-after': '999999999' }),
  'an overload with an odd time': status(503, '{}', { 'retry-after': '-1, x', 'retry-after-ms': '1e99' }),
  'no content': status(204, ''),
  'a redirect inside': status(307, '', { location: 'http://127.0.0.1:9/' }),
  'a status of its own': status(799, '{}'),
  'a type of its own': (response) => give(response, 'data: {}\n\n', 'text/event-stream-not; charset=x'),
  'a type of 10 KB': (response) => give(response, '{}', `application/json; x=${'y'.repeat(10_000)}`),
  'a charset of its own': (response) =>
    give(response, Buffer.from('data: {}\n\n', 'utf16le'), `${EVENTS}; charset=utf-16`),
  'a connection that is cut': (response) => void response.destroy(),
  'a body that is cut': (response) => {
    response.writeHead(200, { 'content-type': EVENTS, 'content-length': '9999' });
    response.write('data: {}\n\n', () => response.destroy());
  },
  'compressed by halves': (response) => {
    response.setHeader('content-encoding', 'gzip');
    give(response, gzipSync('data: {}\n\n'.repeat(1_000)).subarray(0, 30), EVENTS);
  },
  'compressed by nothing known': (response) => {
    response.setHeader('content-encoding', 'br, gzip, x');
    give(response, 'data: {}\n\n', EVENTS);
  },
};
