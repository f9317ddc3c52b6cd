import { cases, converse, type Case, type Outcome, type Scene } from './corpus.js';
import type { Random } from './fuzz/random.js';

const VALUE = 'ghp_S3cr3t/Tok&n=42';
const ASK = 'with the secret api as the header X-Api-Key';

const hexOf = (sign: string, mark: string): string =>
  [...Buffer.from(sign)].map((byte) => mark + byte.toString(16).padStart(2, '0')).join('');
const unitsOf = (sign: string, mark: string): string =>
  sign
    .split('')
    .map((unit) => mark + unit.charCodeAt(0).toString(16).padStart(4, '0'))
    .join('');
const codeOf = (sign: string): number => sign.codePointAt(0)!;

/** Each writes one character as a service, or an attacker in it, may escape it. */
export const ESCAPES: readonly ((sign: string) => string)[] = [
  (sign) => sign,
  (sign) => unitsOf(sign, '\\u'),
  (sign) => unitsOf(sign, '\\\\u'),
  (sign) => `\\u{${codeOf(sign).toString(16)}}`,
  (sign) => hexOf(sign, '\\x'),
  (sign) => [...Buffer.from(sign)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join(''),
  (sign) => hexOf(sign, '%'),
  (sign) => hexOf(sign, '%25'),
  (sign) => `&#${codeOf(sign).toString().padStart(7, '0')};`,
  (sign) => `&#X${codeOf(sign).toString(16)};`,
  (sign) => `&amp;#${codeOf(sign)};`,
];

interface Reflection {
  /** The way in which each character is escaped, and the places where the response is cut. */
  readonly ways: readonly number[];
  readonly cuts: readonly number[];
}

const reflection = (random: Random): Reflection => ({
  ways: [...VALUE].map(() => (random.chance(40) ? 0 : random.below(ESCAPES.length))),
  cuts: Array.from({ length: random.below(6) }, () => random.below(60)).sort((a, b) => a - b),
});

/** Responses that repeat the secret of their request, with any of its characters escaped and in pieces. */
export function reflections(): readonly Case[] {
  const plain = { ways: [...VALUE].map(() => 0), cuts: [] };
  return [
    { name: 'the secret as it is', isRight: true, act: (scene) => reflect(scene, plain) },
    ...cases(80, reflection, reflect),
  ];
}

async function reflect(scene: Scene, { ways, cuts }: Reflection): Promise<Outcome> {
  const { stage, stranger } = scene;
  const secret = { value: VALUE, replace: true, places: ['http'], hosts: ['127.0.0.1'] };
  const headers = { 'content-type': 'application/json' };
  await stage.fetch('/lango/secrets/api', { method: 'PUT', headers, body: JSON.stringify(secret) });
  const written = [...VALUE].map((sign, index) => ESCAPES[ways[index]!]!(sign)).join('');
  let seen: unknown;
  stranger.answer = ({ headers }, response) => {
    seen = headers['x-api-key'];
    for (const [index, cut] of [0, ...cuts].entries()) response.write(written.slice(cut, cuts[index]));
    response.end();
  };
  const { outcome, said } = await converse(scene, `request ${stranger.url}/ ${ASK}`);
  if (seen !== VALUE) return { finding: `the secret was not sent: ${said.slice(0, 200)}` };
  const isHidden = said.includes('{{secret:api}}') || said.includes('[secret api, encoded]');
  if (!isHidden || said.includes(written.slice(-12))) return { finding: `the model read ${said}` };
  return outcome;
}
