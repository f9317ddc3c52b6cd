import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { garbled } from './fuzz/mutate.js';
import type { Taken } from './child.js';
import { cases, deep, faultIn, type Case, type Outcome, type Scene } from './corpus.js';

/** A valid file. No error message may contain its secret. */
const GOOD = `server:
  host: 127.0.0.1
  port: 4100
  limits: { bodyBytes: 1024, streams: 10 }
auth:
  mode: token
  token: "a-long-token-of-somebody-1234567890"
model:
  provider: openai
  name: test
  apiKey: lilac-secret-7777
tools:
  exec: { enabled: true, envAllow: [PATH, "HOME"] }
a2a:
  enabled: true
  remoteAgents:
    - name: far
      url: https://far.example
      token: lilac-secret-8888
`;
const SECRET = /lilac/;
/** The most characters of an error message that a person can read. */
const LONGEST_MESSAGE = 20_000;

/** Hostile configuration files, read by `lango config check` and by a reload in the process of a server. */
export function configFiles(): readonly Case[] {
  const act = async ({ stage }: Scene, bytes: string | Buffer): Promise<Outcome> => {
    const file = path.join(stage.home, 'abuse.yaml');
    // Others must not be able to read a file with secrets.
    await writeFile(file, bytes, { mode: 0o600 });
    const { outcome, isTyped, text = '' } = await stage.ask<Taken>({ kind: 'file', file });
    if (outcome === 'refused' && !isTyped) return { finding: `refused without a reason of ours: ${text}` };
    const fault = faultIn(text);
    if (fault !== undefined) return { finding: `a message holds "${fault}"` };
    if (SECRET.test(text)) return { finding: `a message quotes a secret: ${text.slice(0, 300)}` };
    if (text.length > LONGEST_MESSAGE) return { finding: `a message of ${text.length} characters` };
    return outcome;
  };
  return [
    { name: 'a right file', isRight: true, act: (scene) => act(scene, GOOD) },
    ...Object.entries({ ...FILES, ...WHOLE }).map(([name, bytes]): Case => ({
      name,
      act: (scene) => act(scene, bytes),
    })),
    ...cases(150, (random) => garbled(GOOD, random), act),
  ];
}

/** Nested lists, each with so many references to the one before. */
function laughs(levels: number, wide: number, [open, close] = ['[', ']']): string {
  const lines = Array.from(
    { length: levels },
    (_, n) => `l${n + 1}: &l${n + 1} ${open}${Array<string>(wide).fill(`*l${n}`).join(',')}${close}\n`,
  );
  return `l0: &l0 ha\n${lines.join('')}`;
}

const indented = (levels: number, line: string): string =>
  Array.from({ length: levels }, (_, n) => `${' '.repeat(n)}${line}\n`).join('');
const lines = (count: number, line: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => `${line(n)}\n`).join('');

/** The text repeated up to the largest size of a file. */
const whole = (text: string): string => text.repeat(Math.ceil(65_536 / text.length)).slice(0, 65_536);

/** Files of the largest allowed size. */
const WHOLE: Readonly<Record<string, string>> = {
  'whole of members': lines(5_500, (n) => `k${n}: word`),
  'whole of anchors': lines(4_000, (n) => `k${n}: &a${n} 1`),
  'whole of tags': lines(4_000, (n) => `k${n}: !t${n} x`),
  'whole of list entries': whole('- word\n'),
  'whole of documents': whole('---\na: 1\n'),
  'whole of members twice': whole('a: 1\n'),
  'whole of errors': whole('a: b: c\n'),
  'whole of brackets': whole('['),
  'whole of braces': whole('{a: '),
  'whole of braces that close': whole('{}'),
  'whole of dashes': whole('- '),
  'whole of questions': whole('? '),
  'whole of aliases': `a: &a 1\nb: [${whole('*a,').slice(0, 65_000)}]`,
  'whole of aliases in a group': lines(4_000, (n) => `k${n}: *a${n}`),
  'whole of unknown keys': `server:\n${lines(5_500, (n) => `  k${n}: 1`)}`,
  'whole of remote agents': `a2a:\n  remoteAgents:\n${lines(1_400, (n) => `  - { name: a${n}, url: "http://a" }`)}`,
  'whole of wrong agents': `a2a:\n  remoteAgents:\n${lines(5_000, () => '  - { x: 1 }')}`,
  'whole of servers': `mcp:\n  servers:\n${lines(2_400, (n) => `    s${n}: { command: x }`)}`,
  'whole of variables': `agent:\n  houseRules: "${whole('${NOT_SET}').slice(0, 65_000)}"\n`,
  'whole of defaults': `agent:\n  houseRules: "${whole('${A:-').slice(0, 65_000)}"\n`,
  'whole of one key': `${whole('k').slice(0, 65_500)}: 1`,
};

const FILES: Readonly<Record<string, string | Buffer>> = {
  right: GOOD,
  empty: '',
  'only a comment': '# nothing',
  'a text': 'hello',
  'a number': '5',
  'a list': '- a\n- b',
  null: '~',
  'not UTF-8': Buffer.from([0xff, 0xfe, 0x00, 0xd8, 0x80]),
  'UTF-16': Buffer.from(`\ufeff${GOOD}`, 'utf16le'),
  zeros: Buffer.alloc(100_000),
  'control characters': '\u0000\u0007\u001b[2J: \u0008\n',
  'a mark of byte order': `\ufeff${GOOD}`,
  'line feeds of Windows': GOOD.replaceAll('\n', '\r\n'),
  'old line feeds': GOOD.replaceAll('\n', '\r'),
  tabs: GOOD.replaceAll('  ', '\t'),
  'two documents': `${GOOD}---\n${GOOD}`,
  '50,000 documents': '---\na: 1\n'.repeat(50_000),
  'an end of a document': `${GOOD}...\n${GOOD}`,
  'an unknown directive': `%LANGO 1.0\n---\n${GOOD}`,
  'an unknown version': `%YAML 9.9\n---\n${GOOD}`,
  'the version 1.1': `%YAML 1.1\n---\n${GOOD}auth: { mode: no }\n`,
  '20,000 directives': `${lines(20_000, (n) => `%TAG !e${n}! tag:e,2000:`)}---\na: 1\n`,
  'a tag of the program': 'server: !!js/function "function () { return 1 }"',
  'a tag of Python': 'server: !!python/object/apply:os.system ["true"]',
  'a tag of its own': 'server: !mine { port: 1 }',
  'a tag on a secret': 'model: { apiKey: !!int lilac-secret-7777 }',
  'a tag on a number': 'server: { port: !!str 4100 }',
  'a tag of bytes': 'server: { host: !!binary AAAA }',
  'a tag of bytes that are none': 'model: { apiKey: !!binary "lilac-secret-7777 %%" }',
  'a tag of a set': 'server: !!set { port, host }',
  'a tag of order': 'server: !!omap [ port: 1, port: 2 ]',
  'a tag of a time': 'server: { host: !!timestamp 2001-01-01 }',
  '30,000 tags': lines(30_000, (n) => `k${n}: !t${n} x`),
  'a tag of 500 KB': `server: !${'t'.repeat(500_000)} x`,
  'an anchor': 'server: &a { port: 4100 }\n',
  'an alias': 'server: { port: &p 4100 }\na2a: { port: *p }',
  'an alias to itself': 'server: &a [*a]',
  'an alias to its parent': 'server: &a { limits: *a }',
  'an alias to nothing': 'server: *nowhere',
  'an alias as a key': 'server: &a x\n*a : 1\n',
  'an anchor on an alias': 'a: &a 1\nb: &b *a\n',
  'aliases, nine levels of nine': laughs(9, 9),
  'aliases, 40 levels of two': laughs(40, 2),
  'aliases, 3,000 levels of one': laughs(3_000, 1),
  'aliases of maps': laughs(9, 9, ['{a: [', ']}']),
  '100,000 aliases': `a: &a 1\nb: [${'*a,'.repeat(100_000)}]`,
  '50,000 anchors': lines(50_000, (n) => `k${n}: &a${n} 1`),
  'a merge key': 'base: &b { port: 1 }\nserver: { <<: *b }',
  'a merge key of a list': 'a: &a { port: 1 }\nserver: { <<: [*a, *a] }',
  'a merge key of a text': 'server: { <<: text }',
  'a merge key of itself': 'server: &s { <<: *s }',
  'a merge key, nested': `${laughs(9, 9)}server: { <<: *l9 }`,
  'merge keys of the version 1.1': '%YAML 1.1\n---\na: &a { port: 1 }\nserver: { <<: *a }',
  'a member __proto__': '__proto__: { isAdmin: true }\nserver: { __proto__: { port: 1 } }',
  'a member __proto__ in quotes': '"__proto__": { allowRisks: [x] }',
  'a member __proto__ in a list': 'a2a: { remoteAgents: [ { __proto__: { name: x, url: "http://a" } } ] }',
  'a member constructor': 'constructor: { prototype: { port: 1 } }\nserver: { constructor: x }',
  'a member toString': 'server: { toString: x, valueOf: y, hasOwnProperty: z }',
  'members of a prototype as names': 'agent: { models: { __proto__: { provider: offline } } }',
  'servers of MCP by odd names':
    'mcp: { servers: { __proto__: { url: "http://a.example" }, constructor: {} } }',
  'a member twice': 'server: { port: 1 }\nserver: { port: 2 }',
  'a member twice, in quotes': 'server: { port: 1, "port": 2, "\\u0070ort": 3 }',
  'a secret twice': 'model: { apiKey: lilac-secret-7777, apiKey: lilac-secret-8888 }',
  '50,000 members twice': 'a: 1\n'.repeat(50_000),
  'a key that is a list': '? [a, b]\n: 1\n',
  'a key that is a map': '? { a: 1 }\n: 1\n',
  'a key that is a secret': '? model: { apiKey: lilac-secret-7777 }\n: 1\n',
  'an empty key': '"": 1\n: 2\n',
  'a key of 1 MB': `${'k'.repeat(1_000_000)}: 1`,
  'a key with letters that turn': '"\u202eserver\u2066\u001b[2J": 1',
  'a number too large': 'server: { port: 1e999 }',
  'a number of 100 KB': `server: { port: ${'9'.repeat(100_000)} }`,
  'no number': 'server: { port: .nan, host: -.inf }',
  'an octal number': 'server: { port: 0o777777777777777777777777 }',
  'lists nested 100': `server: ${'['.repeat(100)}${']'.repeat(100)}`,
  'lists nested 5,000': `server: ${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  'lists nested 100,000': `server: ${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  'lists opened 100,000 times': '['.repeat(100_000),
  'maps nested 5,000': `server: ${'{a: '.repeat(5_000)}1${'}'.repeat(5_000)}`,
  'maps opened 100,000 times': '{a: '.repeat(100_000),
  'JSON nested 100,000': deep(100_000),
  'lines nested 1,000': indented(1_000, 'a:'),
  'lists in lines nested 1,000': indented(1_000, '-'),
  'lists in one line, 20,000': '- '.repeat(20_000),
  'keys in one line, 20,000': '? '.repeat(20_000),
  'quotes that do not end': `server: "${'x'.repeat(500_000)}`,
  'a secret in quotes that do not end': 'model: { apiKey: "lilac-secret-7777 }',
  'a secret that begins like an alias': 'model:\n  apiKey: *lilac-secret-7777\n',
  'a secret that begins like an anchor': 'model:\n  apiKey: &lilac-secret-7777\n',
  'a secret that begins like a tag': 'model:\n  apiKey: !lilac-secret-7777\n',
  'a secret that begins like a directive': 'model:\n  apiKey: %lilac-secret-7777\n',
  'a secret with a wrong escape': 'model:\n  apiKey: "lilac\\qsecret-7777"\n',
  'a secret that begins with a reserved sign': 'model:\n  apiKey: @lilac-secret-7777\n',
  'a secret in the place of a group': 'model: lilac-secret-7777\n',
  'a secret without a space': 'model:\n  apiKey:lilac-secret-7777\n',
  'a secret in a list': 'model:\n  apiKey: [lilac-secret-7777]\n',
  'a secret with a variable that is not set': 'model:\n  apiKey: lilac-${NOT_SET}-7777\n',
  'a secret behind a wrong variable': 'model:\n  apiKey: ${lilac-secret 7777}\n',
  'a text of 3 MB in quotes': `model: { name: "${'x '.repeat(1_500_000)}" }`,
  'a text of 3 MB in lines': `model:\n  name: |\n${'    word word\n'.repeat(210_000)}`,
  'a text folded': `model:\n  name: >\n${'    word word\n\n'.repeat(50_000)}`,
  'a text of escapes': `model: { name: "${'\\u0041'.repeat(100_000)}" }`,
  'comments of 5 MB': '# comment\n'.repeat(500_000),
  'blank lines of 5 MB': '\n'.repeat(5_000_000),
  'spaces of 5 MB': ' '.repeat(5_000_000),
  'colons of 1 MB': ':'.repeat(1_000_000),
  'braces of 1 MB': '{}'.repeat(500_000),
  'a list of 5 MB': lines(700_000, () => '- word'),
  'members of 5 MB': lines(400_000, (n) => `k${n}: word`),
  'members of 1 MB': lines(80_000, (n) => `k${n}: word`),
  'errors in 50,000 lines': 'a: b: c\n'.repeat(50_000),
  'unknown keys in a group, 30,000': `server:\n${lines(30_000, (n) => `  k${n}: 1`)}`,
  'remote agents, 20,000': `a2a:\n  remoteAgents:\n${lines(20_000, (n) => `  - { name: a${n}, url: "http://a" }`)}`,
  'variables that are not set, 20,000': `agent:\n  houseRules: "${'${NOT_SET}'.repeat(20_000)}"\n`,
  'a variable in a variable': 'agent:\n  houseRules: ${A${B${C}}}\n',
  'a variable that does not end': `agent:\n  houseRules: "${'${'.repeat(50_000)}"\n`,
  'a variable with a default, nested': `agent:\n  houseRules: "${'${A:-'.repeat(20_000)}x${'}'.repeat(20_000)}"\n`,
  'a file in a variable': 'model: { apiKey: "${file:/etc/passwd}" }',
};
