import { cases, judge, type Case, type Outcome, type Scene } from './corpus.js';
import type { Random } from './fuzz/random.js';
import { sign } from './persons.js';

/** A cookie of a request: whose session it has, and how its name and its value are written. */
interface Cookie {
  readonly whose: Person;
  readonly name: number;
  readonly value: number;
}

type Person = 'alice' | 'mallory';
type Writes = (text: string) => string;

/** The first is the exact name. The others are names of the same host that a page of another port may set. */
const NAMES: readonly Writes[] = [
  (name) => name,
  (name) => name.toUpperCase(),
  (name) => `__Host-${name}`,
  (name) => `__Secure-${name}`,
  (name) => name.replace(/-\d+$/, ''),
  (name) => ` \t${name}`,
  (name) => `x; ${name}`,
  (name) => `=${name}`,
  (name) => `${name} `,
  (name) => `%6c${name.slice(1)}`,
];
const VALUES: readonly Writes[] = [
  (id) => id,
  (id) => `"${id}"`,
  (id) => `${id} `,
  (id) => `${id}; $Path=/lango`,
  (id) => `${id}=`,
  (id) => `${id},`,
  () => '',
];
const SEPARATORS = ['; ', ';', ';;', ' ; ', ', ', ';\t'];

interface Request {
  readonly cookies: readonly Cookie[];
  readonly separator: string;
}

const OWN: Cookie = { whose: 'alice', name: 0, value: 0 };
const TOSSED: Cookie = { whose: 'mallory', name: 0, value: 0 };

function tossing(random: Random): Request {
  const tossed = Array.from({ length: 1 + random.below(3) }, (): Cookie => {
    const isPlain = random.chance(40);
    const [name, value] = isPlain ? [0, 0] : [random.below(NAMES.length), random.below(VALUES.length)];
    return { whose: 'mallory', name, value };
  });
  const at = random.below(tossed.length + 1);
  // A page that sets many cookies makes the browser forget the one of the console.
  const cookies = random.chance(20) ? tossed : tossed.toSpliced(at, 0, OWN);
  return { cookies, separator: random.pick(SEPARATORS) };
}

/** Requests of Alice's console with cookies that a page of another port or of a sibling domain has set (cookie tossing). */
export function tossedCookies(): readonly Case[] {
  const only = (cookies: readonly Cookie[]) => (scene: Scene) => act(scene, { cookies, separator: '; ' });
  return [
    { name: 'the cookie of the console', isRight: true, act: only([OWN]) },
    { name: 'the cookie of another person alone', act: only([TOSSED]) },
    { name: 'before the own cookie', act: only([TOSSED, OWN]) },
    { name: 'after the own cookie', act: only([OWN, TOSSED]) },
    ...cases(80, tossing, act),
  ];
}

async function act({ stage }: Scene, { cookies, separator }: Request): Promise<Outcome> {
  const signedIn = async (person: Person) => {
    const authorization = `Bearer ${await sign({ sub: person })}`;
    const headers = { authorization, 'lango-console': pageOf(person), 'content-type': 'application/json' };
    const body = JSON.stringify({ value: `the-value-of-${person}`, replace: true });
    const stored = await stage.fetch(`/lango/secrets/of-${person}`, { method: 'PUT', headers, body });
    if (!stored.ok) throw new Error(`the secret of ${person}: ${await stored.text()}`);
    const { headers: given } = await stage.fetch('/console/session', { method: 'POST', headers });
    return given.get('set-cookie')!.split(';')[0]!.split('=') as [name: string, id: string];
  };
  const sessions = { alice: await signedIn('alice'), mallory: await signedIn('mallory') };
  const written = cookies.map(({ whose, name, value }) => {
    const [said, id] = sessions[whose];
    return `${NAMES[name]!(said)}=${VALUES[value]!(id)}`;
  });
  const headers = { cookie: written.join(separator), 'lango-console': pageOf('alice') };
  const response = await stage.fetch('/lango/secrets', { headers });
  const said = await response.clone().text();
  if (said.includes('of-mallory')) return { finding: `Alice works as Mallory: ${headers.cookie}` };
  if (response.ok && !said.includes('of-alice')) return { finding: `Alice got ${said}` };
  const isPlain = !separator.includes(',') && cookies.every(({ name, value }) => name + value === 0);
  if (response.ok && isPlain && cookies.length > 1)
    return { finding: `one of several sessions was taken: ${headers.cookie}` };
  return judge(response);
}

const pageOf = (person: Person): string => `the-page-of-${person}-in-her-browser`;
