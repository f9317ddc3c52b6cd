import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { exactJson, jsonLine, safeLine, safeText } from '../../../src/terminal/safe-text.js';
import { garbled, mutated } from './mutate.js';
import { APPROVAL_SECONDS } from './owners.js';
import { UNSEEN } from './peer.js';
import { sendParams } from './requests.js';
import type { Attack, Outcome } from './target.js';
import { PATIENCE_MS, shown } from './target.js';

/** Targeted attacks. Each one knows which responses are a finding. */

interface Shot {
  readonly origin: string;
  readonly token: string;
  readonly path: string;
  readonly method?: string;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

async function shoot({ origin, token, path, method = 'POST', body, headers }: Shot): Promise<Outcome> {
  const init = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers };
  const request = shown(method, path, body ?? '');
  const sent = typeof body === 'string' ? body : '';
  try {
    const response = await fetch(origin + path, {
      method,
      headers: init,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : new Uint8Array(body) }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return { status: response.status, text: await response.text(), sent, request };
  } catch (error) {
    return { status: (error as Error).name === 'TimeoutError' ? 'silent' : 'cut', text: '', sent, request };
  }
}

function found(outcome: Outcome, isFinding: boolean, finding: string): Outcome {
  return isFinding ? { ...outcome, finding } : outcome;
}

/** A member given twice: some parsers use the first, others the last. */
export const doubledMembers: Attack = async (random, target) => {
  const whole = JSON.stringify(sendParams(target, random));
  const [name, value] = random.pick([
    ['"role":', '"ROLE_AGENT"'],
    ['"messageId":', '"another"'],
    ['"parts":', '[{"text":"another"}]'],
    ['"\\u0072ole":', '"ROLE_USER"'],
  ] as const);
  const body = whole.replace('"message":{', `"message":{${name}${value},`);
  const outcome = await shoot({ ...target, path: '/message:send', body });
  return found(outcome, outcome.status === 200, 'a member was given twice, and the request taken');
};

/** A body whose second part never arrives. */
export const slowBodies: Attack = (random, { port, token }) =>
  new Promise((resolve) => {
    const head = `POST /message:send HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n`;
    const body = '{"message":{'.slice(0, random.below(12));
    const socket = connect(port, '127.0.0.1', () => socket.write(head + body));
    let text = '';
    const leave = (): void => {
      clearTimeout(timer);
      socket.destroy();
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
      const outcome = {
        status: status || 'cut',
        text,
        sent: '',
        request: shown(head + body),
        mayBeSlow: true,
      };
      resolve(found(outcome, status !== 408, `a body that never comes was answered with "${status}"`));
    };
    const timer = setTimeout(leave, PATIENCE_MS);
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('error', () => {}).on('close', leave);
  });

const TAGS = ['div', 'b', 'table', 'blockquote', 'select', 'svg', 'ul', 'a'];
const NAMES = ['a.html', 'a.md', 'a.pdf', 'a.zip', 'a.tar.gz', 'a.docx', '../a', 'a\u202elmth.', ''];

const PACKED = gzipSync(Buffer.alloc(20_000_000));

/** Documents to parse: nested, compressed or broken, with all kinds of names. */
export const documents: Attack = async (random, target) => {
  const tag = random.pick(TAGS);
  const whole = random.pick([
    `<${tag}>`.repeat(random.below(20_000)),
    `<${tag}><${tag}>x</${tag}>`.repeat(random.below(4_000)),
    '# a\n> b\n* c\n'.repeat(random.below(3_000)),
    PACKED,
    Buffer.concat([Buffer.from('PK\u0003\u0004'), random.bytes(500)]),
    '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 1 0 R>>endobj\ntrailer<</Root 1 0 R>>',
  ]);
  const body = random.chance(50) ? garbled(whole, random) : Buffer.from(whole as string);
  const name = random.pick(NAMES);
  const query = new URLSearchParams({ origin: `/fuzz/${random.below(50)}`, name, modifiedAt: '1' });
  const path = `/lango/documents/fuzz?${query.toString()}`;
  const headers = { 'content-type': 'application/octet-stream' };
  return { ...(await shoot({ ...target, path, method: 'PUT', body, headers })), mayBeSlow: true };
};

/** The second owner asks for the first one's task and texts, by every id of them. */
export const owners: Attack = async (random, { owners: { origin, second, mark, taskId, contextId } }) => {
  const message = {
    messageId: `o-${random.below(2 ** 32)}`,
    role: 'ROLE_USER',
    parts: [{ text: 'what was said?' }],
  };
  const [method, path, body] = random.pick<readonly [string, string, object?]>([
    ['GET', `/tasks/${taskId}`],
    ['GET', `/tasks?contextId=${contextId}`],
    ['GET', `/tasks?pageSize=100&historyLength=9&pageToken=${random.below(99)}`],
    ['POST', `/tasks/${taskId}:cancel`, {}],
    ['POST', `/tasks/${taskId}:subscribe`, {}],
    ['GET', `/tasks/${taskId}/pushNotificationConfigs`],
    ['POST', '/message:send', { message: { ...message, taskId } }],
    ['POST', '/message:send', { message: { ...message, contextId } }],
    ['POST', '/message:send', { message: { ...message, referenceTaskIds: [taskId] } }],
    ['POST', '/message:send', { tenant: 'first', message }],
    ['POST', '/', { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: taskId, tenant: 'first' } }],
    ['POST', '/', { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: { contextId, tenant: 'first' } }],
  ]);
  const spoiled = body === undefined || random.chance(60) ? body : (mutated(body, random) as object);
  const given = spoiled === undefined ? {} : { body: JSON.stringify(spoiled) ?? 'null' };
  const headers: Record<string, string> = random.chance(20)
    ? { 'x-tenant': 'first', 'x-forwarded-user': 'first', 'last-event-id': '0' }
    : {};
  const outcome = await shoot({ origin, token: second, path, method, headers, ...given });
  return found(
    { ...outcome, isElsewhere: true },
    outcome.text.includes(mark),
    'one owner read what another said',
  );
};

/** An approval that is swapped, late, invented or right. The result of the call shows whether it was made. */
export const approvals: Attack = async (random, { owners: { origin, second: token } }) => {
  const word = `approve-${random.below(2 ** 32)}`;
  const ask = async (said: object, taskId?: string): Promise<Outcome> => {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [said], taskId };
    const outcome = await shoot({ origin, token, path: '/message:send', body: JSON.stringify({ message }) });
    return { ...outcome, isElsewhere: true };
  };
  const question = (text: string): Promise<Outcome> =>
    ask({ text: `call crypto_hash with ${JSON.stringify({ text, algorithm: 'sha256' })}` });
  const asked = await question(word);
  const taskId = /"id":"([^"]+)"/.exec(asked.text)?.[1];
  const hash = /"hash":"([^"]+)"/.exec(asked.text)?.[1];
  if (taskId === undefined || hash === undefined)
    return asked.status === 200 ? { ...asked, finding: `a call was not asked about: ${asked.text}` } : asked;
  const digest = createHash('sha256').update(word).digest('hex');
  const answer = (given: string): Promise<Outcome> =>
    ask({ data: { answer: { hash: given, decision: 'approve' } }, mediaType: 'application/json' }, taskId);
  const kind = random.pick(['swapped', 'late', 'garbled', 'bare', 'right']);
  const outcome = await {
    swapped: async () => answer(/"hash":"([^"]+)"/.exec((await question(`${word}b`)).text)?.[1] ?? ''),
    late: async () => {
      await sleep(APPROVAL_SECONDS * 1_000 + random.below(300) + 50);
      return answer(hash);
    },
    garbled: () => answer(garbled(hash, random).toString('latin1').replace(hash, 'x')),
    bare: () => ask({ text: random.pick(['yes', 'approve', 'ok', 'approve 0000']) }, taskId),
    right: () => answer(hash),
  }[kind]!();
  const wasMade = outcome.text.includes(digest);
  const slow = { ...outcome, mayBeSlow: true };
  return found(slow, wasMade && kind !== 'right', `a call was made after a ${kind} approval`);
};

/** Invisible characters in the question to a person. */
export const invisible: Attack = async (random, { owners: { origin, second: token } }) => {
  const letter = random.pick(UNSEEN);
  const text = `call crypto_hash with ${JSON.stringify({ text: `pay${letter}ee${letter}`, algorithm: 'sha256' })}`;
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
  const outcome = await shoot({ origin, token, path: '/message:send', body: JSON.stringify({ message }) });
  const { task }: Asked = outcome.status === 200 ? (JSON.parse(outcome.text) as Asked) : {};
  const question = task?.status.message?.parts.map((part) => part.text ?? '').join('') ?? '';
  return found(
    { ...outcome, isElsewhere: true },
    question.includes(letter),
    'a question shows a letter that nobody sees',
  );
};

/** The same characters in the texts and questions of a remote agent: no command shows them. */
export const peersLetters: Attack = async (random, target) => {
  const at = random.below(UNSEEN.length);
  const text = `ask stranger to show letter ${at}${random.chance(50) ? ' in a question' : ''}`;
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
  const outcome = await shoot({ ...target, path: '/message:send', body: JSON.stringify({ message }) });
  const { task }: Asked = outcome.status === 200 ? (JSON.parse(outcome.text) as Asked) : {};
  const said = [task?.status.message, ...(task?.artifacts ?? [])].flatMap((one) => one?.parts ?? []);
  const shownAs = said.map((part) =>
    part.text === undefined
      ? exactJson(part.data) + jsonLine(part.data)
      : safeText(part.text) + safeLine(part.text),
  );
  if (outcome.status === 200 && !outcome.text.includes('pay'))
    return { ...outcome, finding: `the peer was not heard: ${outcome.text.slice(0, 300)}` };
  return found(outcome, shownAs.join('').includes(UNSEEN[at]!), 'a command shows a letter that nobody sees');
};

interface Parts {
  readonly parts: readonly { readonly text?: string; readonly data?: unknown }[];
}

interface Asked {
  readonly task?: { readonly status: { readonly message?: Parts }; readonly artifacts?: readonly Parts[] };
}

const INSIDE = [
  'http://127.0.0.1:80/',
  'http://localhost/',
  'https://10.0.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://[::1]/',
  'http://[::ffff:10.0.0.1]/',
  'http://0x7f000001/',
  'http://2130706433/',
  'http://192.168.1.1:22/',
  'http://metadata.google.internal/',
  'file:///etc/passwd',
  'http://192.0.2.1/',
  'http://a.example:25/',
];

/** Push configs with private addresses. */
export const pushInside: Attack = async (random, target) => {
  const url = random.pick(INSIDE);
  const { agent, taskId } = target.asking;
  const body = JSON.stringify({ taskId, url, id: 'x', token: 't' });
  const path = `/agents/${agent}/tasks/${taskId}/pushNotificationConfigs`;
  const outcome = await shoot({ ...target, path, body });
  return found(outcome, outcome.status === 200, `a push config to ${url} was taken`);
};

const CURSORS = ['0', '-1', '1', '99999999999999999999', '1e3', 'x', '0x1', ' 1', '1,2', '٣', 'NaN'];

/** A stream that is cut at its first event, and resumed from a cursor that may be invalid. */
export const cutStreams: Attack = async (random, target) => {
  const params = sendParams(target, random);
  const cut = new AbortController();
  const { origin, token } = target;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify(params);
  const first = await fetch(`${origin}/message:stream`, {
    method: 'POST',
    headers,
    body,
    signal: cut.signal,
  });
  const reader = first.body?.getReader();
  const piece = await reader?.read();
  cut.abort();
  await reader?.cancel().catch(() => undefined);
  const text = Buffer.from(piece?.value ?? []).toString();
  const taskId = /"task":\{"id":"([^"]+)"/.exec(text)?.[1];
  const request = shown('POST /message:stream', body);
  // The rest of the response to the message was not read.
  if (taskId === undefined) return { status: first.ok ? 'cut' : first.status, text, sent: body, request };
  const resumed = await shoot({
    ...target,
    path: `/tasks/${taskId}:subscribe`,
    body: '{}',
    headers: { 'last-event-id': random.pick(CURSORS).replace('٣', '%D9%A3') },
  });
  return { ...resumed, text: `${text}\n${resumed.text}`, sent: body };
};
