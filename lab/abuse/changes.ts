import { existsSync } from 'node:fs';
import type { SettingsInput } from '../../src/index.js';
import { cases, converse, type Case, type Outcome, type Scene } from './corpus.js';
import type { Random } from './fuzz/random.js';
import type { Stranger } from './stranger.js';

const VALUE = 'ghp_S3cr3tToken42';
/** Headers by which some services take another method than that of the request. */
const OVERRIDES = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'];
/** The arguments by which curl asks for a change, in every way that it has. */
const FLAGS: readonly string[] = [
  ...['DELETE', 'PUT', 'POST', 'PATCH', 'OPTIONS', 'delete', 'PROPFIND', 'PURGE'].map((name) => `-X ${name}`),
  ...OVERRIDES.flatMap((name) => [`-H "${name}: DELETE"`, `-H "${name.toLowerCase()}:PUT"`]),
  '-d {}',
  '--json {}',
  '-F a=b',
  '-T /etc/hostname',
  '-X DELETE -H "Transfer-Encoding: chunked" -d x',
  '-X DELETE -H "Expect: 100-continue"',
  '-X DELETE -H "X-Api-Key: {{secret:api:http}}"',
  '-I -X DELETE',
  '--http1.0 -X DELETE',
  '--request-target http://127.0.0.1:1/ -X DELETE',
];
/** The changes that the command names: none, or others than it sends. */
const NAMED: readonly (string | undefined)[] = [
  undefined,
  'POST 127.0.0.1 other',
  'DELETE localhost api',
  'DELETE 127.0.0.1.evil.example api',
  'DELETE 127.0.0.1:1 api, PUT 127.0.0.1:1 api, POST 127.0.0.1:1 api',
  'GET 127.0.0.1 api',
  'DELETE 127.0.0.1 API',
  'DELETE * api',
  'DELETE 127.0.0.1 *',
];

const OTHER = 'another method by a header';

interface Command {
  readonly flags: string;
  readonly changes?: string | undefined;
}

const command = (random: Random): Command => ({ flags: random.pick(FLAGS), changes: random.pick(NAMED) });

export const whyNoCurl = existsSync('/usr/bin/curl')
  ? undefined
  : 'The commands use curl, which is not here.';

/** A server whose commands wait for a person, and may use a secret at the stranger. */
export const withCommands = ({ url }: Stranger): SettingsInput => ({
  tools: {
    ...{ fs: { enabled: false }, secrets: { enabled: true }, http: { enabled: true } },
    exec: { enabled: true, sandbox: 'off' },
  },
  egress: { allowPrivate: [new URL(url).host] },
});

/** Commands that change something with a secret by `$LANGO_HTTP`, approved by a person who was told something else. */
export function hiddenChanges(): readonly Case[] {
  const named = { flags: '-X DELETE', changes: 'DELETE 127.0.0.1 api' };
  return [
    { name: 'a request that reads', isRight: true, act: (scene) => act(scene, { flags: '' }) },
    { name: 'a change that is named', isRight: true, act: (scene) => act(scene, named, ['DELETE']) },
    ...cases(60, command, act),
  ];
}

async function act(
  scene: Scene,
  { flags, changes }: Command,
  approved: readonly string[] = [],
): Promise<Outcome> {
  const { stage, stranger } = scene;
  const secret = { value: VALUE, replace: true, places: ['http'], hosts: ['127.0.0.1'] };
  const headers = { 'content-type': 'application/json' };
  await stage.fetch('/lango/secrets/api', { method: 'PUT', headers, body: JSON.stringify(secret) });
  const seen: string[] = [];
  stranger.answer = ({ method = '', headers }, response) => {
    const over = OVERRIDES.some((name) => name.toLowerCase() in headers);
    if (headers['x-api-key']?.includes(VALUE)) seen.push(over ? OTHER : method);
    response.end('done');
  };
  const curl = `curl -sS -m 5 ${flags} --unix-socket "$LANGO_HTTP" ${stranger.url}/ -H "X-Api-Key: {{secret:api:http}}"`;
  const call = JSON.stringify({ command: curl, ...(changes !== undefined && { changes }) });
  const { outcome, said, taskId } = await converse(scene, `call exec with ${call}`);
  const hash = /approve (\w+)/i.exec(said)?.[1];
  if (hash === undefined)
    return typeof outcome === 'string' && seen.length === 0 ? 'refused' : { finding: said };
  const isOverrideNamed = said.includes('a header for another method');
  const done = await converse(scene, `approve ${hash}`, { taskId });
  const told = ['GET', 'HEAD', ...approved, ...(isOverrideNamed ? [OTHER] : [])];
  const hidden = seen.filter((method) => !told.includes(method));
  if (hidden.length > 0) return { finding: `${hidden.join()} was sent: ${done.said.slice(0, 200)}` };
  return seen.length > 0 ? done.outcome : 'refused';
}
