import { request as httpRequest } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import type { Random } from './random.js';
import type { Attack, Outcome } from './target.js';
import { PATIENCE_MS, shown } from './target.js';

/** Asks for tasks from another address of loopback, because many failures slow an address down. */
function ask(random: Random, port: number | string, authorization: string): Promise<Outcome> {
  const options = {
    host: '127.0.0.1',
    port,
    localAddress: `127.0.1.${1 + random.below(200)}`,
    path: '/tasks',
    headers: { authorization },
  };
  return new Promise((resolve) => {
    const end = (status: number | string, text: string): void =>
      resolve({ status, text, sent: '', request: shown('GET /tasks', authorization), mayBeSlow: true });
    const request = httpRequest({ ...options, timeout: PATIENCE_MS }, (response) => {
      textOf(response).then(
        (text) => end(response.statusCode ?? 0, text),
        () => end('cut', ''),
      );
    });
    request
      .on('timeout', () => request.destroy())
      .on('error', () => end('cut', ''))
      .end();
  });
}

/** Wrong credentials or none. */
export const credentials: Attack = async (random, { port, token }) => {
  const wrong = random.pick([
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${token}x`,
    `bearer  ${token.toUpperCase()}`,
    `Basic ${Buffer.from(`x:${token}`).toString('base64')}`,
    'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJmaXJzdCJ9.',
    `Bearer ${'x'.repeat(random.below(9_000))}`,
    '',
    'Bearer',
    'Bearer x y',
  ]);
  const outcome = await ask(random, port, wrong);
  return outcome.status === 200 ? { ...outcome, finding: 'wrong credentials were taken' } : outcome;
};

const NOW_SECONDS = Date.now() / 1_000;
const RIGHT = { sub: 'second' };
/** Claims that stand for nobody, although the signature is right. */
const WRONG: readonly object[] = [
  ...[{}, [], ['second'], RIGHT, 5, 0, true, null, '', undefined].map((sub) => ({ sub })),
  ...['https://other.example', '', 5, ['https://issuer.example', 'x']].map((iss) => ({ ...RIGHT, iss })),
  ...['other', '', 5, [], {}].map((aud) => ({ ...RIGHT, aud })),
  ...[1, -1, 'x', {}, null].map((exp) => ({ ...RIGHT, exp })),
  ...[NOW_SECONDS + 3_600, 'x', {}].map((nbf) => ({ ...RIGHT, nbf })),
];

/** Tokens with a right signature and claims of wrong types or values. Right ones are taken. */
export const claims: Attack = async (random, { owners: { origin, sign } }) => {
  const isRight = random.chance(20);
  const given = isRight ? RIGHT : random.pick(WRONG);
  const asked = await ask(random, new URL(origin).port, `Bearer ${await sign(given)}`);
  const outcome = { ...asked, isElsewhere: true, request: shown('GET /tasks', given) };
  const isExpected = isRight ? asked.status === 200 : asked.status === 401 || asked.status === 429;
  if (isExpected) return outcome;
  const finding = `claims that are ${isRight ? 'right' : 'wrong'} were answered with ${asked.status}`;
  return { ...outcome, finding };
};
