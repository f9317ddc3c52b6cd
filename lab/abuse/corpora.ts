import type { IncomingMessage, ServerResponse } from 'node:http';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import type { SettingsInput } from '../../src/index.js';
import { garbled, mutated } from './fuzz/mutate.js';
import type { Taken } from './child.js';
import { cases, deep, judge, send, type Case, type Outcome, type Scene } from './corpus.js';
import { cardAt, give, type Responder, type Stranger } from './stranger.js';

/** The response of a well-behaved agent to a request for its card. */
export function goodCard({ url }: Stranger): Responder {
  return (_, response) => give(response, cardAt(url));
}

const EVENTS = 'text/event-stream';
/** A task that a peer has completed. */
const TASK = {
  id: 'far',
  contextId: 'c',
  status: {
    state: 'TASK_STATE_COMPLETED',
    message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'ok' }] },
  },
  artifacts: [{ artifactId: 'a', parts: [{ text: 'done' }, { data: { a: 1 } }] }],
};

function eventOf(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** Calls `use` with the id of a JSON-RPC call and its context, once its body has arrived. */
export function onCall(request: IncomingMessage, use: (id: unknown, contextId: string) => void): void {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const body = Buffer.concat(pieces).toString();
    const [, id] = /"id":("[^"]*"|\d+)/.exec(body) ?? [];
    const [, contextId = 'c'] = /"contextId":"([^"]+)"/.exec(body) ?? [];
    use(id === undefined ? undefined : JSON.parse(id), contextId);
  });
}

/** Hostile cards of a called agent. */
export function cards(): readonly Case[] {
  const call = async ({ stage, stranger }: Scene, body: unknown): Promise<Outcome> => {
    stranger.answer = (request, response) => {
      if (request.method === 'GET') give(response, body);
      else
        onCall(request, (id) =>
          give(response, eventOf({ jsonrpc: '2.0', id, result: { task: TASK } }), EVENTS),
        );
    };
    return judgeTaken(await stage.ask<Taken>({ kind: 'card', url: stranger.url }));
  };
  const bodies = [
    ...['', 'null', '[]', '{}', '"card"', '<html>', deep(5), deep(5_000), deep(100_000), '{"name":'],
    ...['x'.repeat(3_000_000), `{"name":"${'n'.repeat(300_000)}"}`, '\u0000', '{"a":1e400}', '\ufeff{}'],
  ];
  return [
    { name: 'a right card', isRight: true, act: (scene) => call(scene, cardAt(scene.stranger.url)) },
    ...bodies.map((body): Case => ({ name: body.slice(0, 60), act: (scene) => call(scene, body) })),
    ...cases(
      235,
      (random) => mutated(cardAt('http://127.0.0.1:1'), random),
      (scene, card) =>
        call(scene, JSON.parse(JSON.stringify(card).replaceAll('http://127.0.0.1:1', scene.stranger.url))),
    ),
  ];
}

function judgeTaken({ outcome, isTyped, text }: Taken): Outcome {
  return outcome === 'refused' && !isTyped
    ? { finding: `refused without a reason of ours: ${text}` }
    : outcome;
}

/** Settings with guessed keys and values. */
export function settings(): readonly Case[] {
  const base = {
    server: {
      host: '127.0.0.1',
      port: 4100,
      limits: { bodyBytes: 1024, streams: 10 },
      grpc: { enabled: true },
    },
    auth: { mode: 'token', token: 'a-long-token-of-somebody-1234567890' },
    agent: { multiAgent: true, roster: 'standard', houseRules: 'Be brief.', limits: { turns: 5 } },
    a2a: { enabled: true, remoteAgents: [{ name: 'far', url: 'https://far.example', token: 'secret' }] },
    model: { provider: 'offline' },
    workspace: ['/tmp/somewhere'],
    tools: { exec: { enabled: true, envAllow: ['PATH'] }, browser: { enabled: false } },
    approval: { policy: ['exec'], by: 'approve' },
  };
  const act = async ({ stage }: Scene, given: unknown): Promise<Outcome> =>
    judgeTaken(await stage.ask<Taken>({ kind: 'settings', settings: given as SettingsInput }));
  return [
    { name: 'right settings', isRight: true, act: (scene) => act(scene, base) },
    ...cases(250, (random) => mutated(base, random), act),
  ];
}

/** Cases that do block the event loop: one with work, one with a wait. */
export function holds(): readonly Case[] {
  return [true, false].map((isWork) => ({
    isRight: true,
    name: isWork ? '150 ms of work' : '1,200 ms of waiting',
    act: ({ stage }) => stage.ask<'taken'>({ kind: 'hold', ms: isWork ? 150 : 1_200, isWork }),
  }));
}

/** Embeddings of any texts, in OpenAI's form: `rag_retrieve` is there only with a server of embeddings. */
const giveEmbeddings: Responder = (request, response) => {
  void json(request).then((body) => {
    const { input } = body as { readonly input: readonly string[] };
    give(response, { data: input.map((text, index) => ({ index, embedding: [text.length, 1] })) });
  });
};

/** Tool calls with invented arguments. */
export function toolArguments(): readonly Case[] {
  const calls: readonly [tool: string, args: object][] = [
    ['fs_read', { path: 'notes.md', offset: 0, limit: 10 }],
    ['fs_write', { path: 'notes.md', content: 'a', mode: 'append' }],
    ['fs_edit', { path: 'notes.md', oldText: 'a', newText: 'b' }],
    ['fs_list', { path: '.', recursive: true }],
    ['fs_search', { pattern: '(a+)+$', path: '.' }],
    ['fs_move', { from: 'notes.md', to: 'other.md' }],
    ['fs_delete', { path: 'notes.md' }],
    ['http_request', { url: 'http://127.0.0.1:1/', method: 'GET', headers: { 'X-A': 'b' } }],
    ['save_knowledge', { key: 'k', content: 'some text' }],
    ['search_knowledge', { query: 'text', limit: 3 }],
    ['graph_add', { subject: 'a', predicate: 'depends on', object: 'b' }],
    ['graph_query', { subject: 'a', predicate: 'depends on' }],
    ['graph_traverse', { start: 'a', depth: 2 }],
    ['memory_store', { fact: 'tea is hot' }],
    ['memory_recall', { query: 'tea' }],
    ['rag_retrieve', { query: 'tea', limit: 2 }],
    ['secrets_store', { name: 'n', value: 'a-secret-value', for: ['http'], hosts: ['a.example'] }],
    ['crypto_hash', { text: 'hello', algorithm: 'sha256' }],
    ['crypto_verify', { key: 'k', text: 'hello', signature: 'AAAA' }],
    ['create_skill', { name: 'greet', description: 'Greets.', instructions: 'Say hi.' }],
    ['exec', { command: 'true', cwd: '.', env: { A: 'b' } }],
  ];
  const act = (scene: Scene, tool: string, args: unknown): Promise<Outcome> => {
    scene.stranger.answer = giveEmbeddings;
    return send(scene, `call ${tool} with ${JSON.stringify(args)}`);
  };
  return calls.flatMap(([tool, args]) => [
    // A task is rejected when no agent has the tool, and completed when the tool fails.
    { name: `${tool} with right arguments`, isRight: true, act: (scene: Scene) => act(scene, tool, args) },
    ...cases(
      14,
      (random) => ({ tool, args: mutated(args, random) }),
      (scene, given) => act(scene, given.tool, given.args),
    ),
  ]);
}

type Answering = (response: ServerResponse, id: unknown, contextId: string) => void;

/** The responses of a peer to a delegated task. */
export function peers(): readonly Case[] {
  const odd: readonly string[] = [
    ...['', 'null', '{}', deep(100), deep(60_000), 'data: {}\n\n', 'x'.repeat(100_000)],
    ...[
      `data: ${'x'.repeat(500_000)}\n\n`,
      'data:\n'.repeat(10_000),
      ':\n\n'.repeat(10_000),
      '\u0000'.repeat(999),
    ],
  ];
  let count = 0;
  const act = async (scene: Scene, answer: Answering): Promise<Outcome> => {
    const { stage, stranger } = scene;
    stranger.answer = (request, response) => {
      if (request.method === 'GET') give(response, cardAt(stranger.url));
      else onCall(request, (id, contextId) => answer(response, id, contextId));
    };
    // A new peer each time, because one that failed often is not called again.
    const name = `stranger-${(count += 1)}`;
    const remoteAgents = [{ name, url: stranger.url, allowPrivate: true }];
    await stage.ask<Taken>({ kind: 'reload', settings: { a2a: { enabled: true, remoteAgents } } });
    return send(scene, `ask ${name} to help`);
  };
  // A response with another context id would be refused for that alone.
  const giveTask = (response: ServerResponse, body: unknown, contextId: string): void =>
    give(response, eventOf(body).replaceAll('"contextId":"c"', `"contextId":"${contextId}"`), EVENTS);
  return [
    {
      name: 'a right task',
      isRight: true,
      act: (scene) =>
        act(scene, (response, id, contextId) =>
          giveTask(response, { jsonrpc: '2.0', id, result: { task: TASK } }, contextId),
        ),
    },
    ...odd.map((body): Case => ({
      name: body.slice(0, 60),
      act: (scene) => act(scene, (response) => give(response, body, EVENTS)),
    })),
    ...cases(
      140,
      (random) =>
        mutated(
          {
            jsonrpc: '2.0',
            result: random.chance(50)
              ? { task: TASK }
              : { statusUpdate: { taskId: 'far', contextId: 'c', status: TASK.status } },
          },
          random,
        ),
      (scene, given) =>
        act(scene, (response, id, contextId) => {
          const body = typeof given === 'object' && given !== null ? { id, ...given } : given;
          giveTask(response, body, contextId);
        }),
    ),
  ];
}

const NESTING = [
  'div',
  'b',
  'table',
  'ul',
  'blockquote',
  'svg',
  'select',
  'template',
  'a',
  'p',
  'font',
  'details',
];

/** Files that somebody asks to have searched. */
export function documents(): readonly Case[] {
  const act = async ({ stage }: Scene, name: string, bytes: string | Buffer): Promise<Outcome> => {
    const query = new URLSearchParams({
      collection: 'abuse',
      origin: `/abuse/${name}`,
      name,
      modifiedAt: '1',
    });
    const body = Buffer.from(bytes as string);
    return judge(await stage.fetch(`/lango/documents/abuse?${query.toString()}`, { method: 'PUT', body }));
  };
  const files: (readonly [name: string, bytes: string | Buffer])[] = NESTING.flatMap((tag) => [
    ...[100, 3_000, 20_000].map((depth) => [`${tag}-${depth}.html`, `<${tag}>`.repeat(depth)] as const),
    [`${tag}-wide.html`, `<${tag}><${tag}>x</${tag}></${tag}>`.repeat(5_000)],
  ]);
  files.push(
    ['rows.html', `<table>${'<tr><td>a</td><td>b</td></tr>'.repeat(30_000)}</table>`],
    ['links.md', '[a](b '.repeat(20_000)],
    ['quotes.md', '>'.repeat(50_000)],
    ['stars.md', '*a '.repeat(50_000)],
    ['line.txt', 'x'.repeat(900_000)],
    ['nul.txt', '\u0000'.repeat(10_000)],
    ['surrogates.txt', '\ud800'.repeat(10_000)],
    ['deep.json', deep(100_000)],
    [
      'page.xml',
      `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "${'c'.repeat(1_000)}">]>${'<a>&b;'.repeat(5_000)}`,
    ],
  );
  const pdf = `%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R>>endobj\ntrailer<</Root 1 0 R>>`;
  return [
    {
      name: 'a right page',
      isRight: true,
      act: (scene) => act(scene, 'page.html', '<h1>Tea</h1><p>It is hot.</p>'),
    },
    ...files.map(([name, bytes]): Case => ({ name, act: (scene) => act(scene, name, bytes) })),
    ...cases(
      40,
      (random) => garbled(pdf, random),
      (scene, bytes) => act(scene, 'file.pdf', bytes),
    ),
  ];
}

const SKILL = '---\nname: greet\ndescription: Greets people.\n---\n\nSay hello.\n';

/** Archives and folders to be imported as a skill. */
export function archives(): readonly Case[] {
  const act = async (scene: Scene, name: string, bytes: Buffer): Promise<Outcome> => {
    const folder = path.join(scene.stage.home, 'workspace', 'inbox');
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, name), bytes);
    return send(scene, `import the skill inbox/${name}`);
  };
  const tar = (files: readonly (readonly [name: string, bytes: Buffer, type?: string])[]) =>
    gzipSync(Buffer.concat([...files.flatMap((file) => tarEntry(...file)), Buffer.alloc(1024)]));
  const good = tar([['greet/SKILL.md', Buffer.from(SKILL)]]);
  const bad: readonly (readonly [name: string, bytes: Buffer])[] = [
    [
      'bomb.tar.gz',
      tar([
        ['greet/SKILL.md', Buffer.from(SKILL)],
        ['greet/zeros', Buffer.alloc(200_000_000)],
      ]),
    ],
    ['up.tar.gz', tar([['../../up', Buffer.from('x')]])],
    ['root.tar.gz', tar([['/etc/up', Buffer.from('x')]])],
    ['link.tar.gz', tar([['greet/SKILL.md', Buffer.from('/etc/passwd'), '2']])],
    ['device.tar.gz', tar([['greet/null', Buffer.alloc(0), '3']])],
    [
      'many.tar.gz',
      tar(Array.from({ length: 20_000 }, (_, n) => [`greet/f${n}`, Buffer.from('x')] as const)),
    ],
    ['deep.tar.gz', tar([[`${'d/'.repeat(45)}SKILL.md`, Buffer.from(SKILL)]])],
    ['yaml.tar.gz', tar([['greet/SKILL.md', Buffer.from(`---\n${'a: &a [*a]\n'}name: greet\n---\n`)]])],
    [
      'laughs.tar.gz',
      tar([['greet/SKILL.md', Buffer.from(`---\n${laughs()}name: greet\ndescription: x\n---\nhi`)]]),
    ],
  ];
  return [
    { name: 'a right archive', isRight: true, act: (scene) => act(scene, 'good.tar.gz', good) },
    ...bad.map(([name, bytes]): Case => ({ name, act: (scene) => act(scene, name, bytes) })),
    ...cases(
      30,
      (random) => garbled(good, random),
      (scene, bytes) => act(scene, 'garbled.tar.gz', bytes),
    ),
    ...cases(
      30,
      (random) => tar([['greet/SKILL.md', garbled(SKILL, random)]]),
      (scene, bytes) => act(scene, 'text.tar.gz', bytes),
    ),
  ];
}

/** An entry of a tar file (POSIX ustar). */
function tarEntry(name: string, bytes: Buffer, type = '0'): Buffer[] {
  const header = Buffer.alloc(512);
  const size = type === '0' ? bytes.length : 0;
  header.write(name.slice(0, 100), 0);
  header.write('0000644\u00000000000\u00000000000\u0000', 100);
  header.write(`${size.toString(8).padStart(11, '0')}\u000000000000000\u0000        ${type}`, 124);
  if (type === '2') bytes.copy(header, 157);
  header.write('ustar\u000000', 257);
  header.write(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\u0000 `,
    148,
  );
  return [header, bytes.subarray(0, size), Buffer.alloc((512 - (size % 512)) % 512)];
}

/** Nine nested levels with nine references each. */
function laughs(): string {
  const levels = Array.from(
    { length: 9 },
    (_, n) => `l${n + 1}: &l${n + 1} [${Array<string>(9).fill(`*l${n}`).join(',')}]\n`,
  );
  return `l0: &l0 ha\n${levels.join('')}`;
}
