import { describe, expect, it } from '@jest/globals';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** The import rules of ARCHITECTURE.md, checked in the sources, so that nobody can switch them off unnoticed. */

const SRC = path.resolve('src');

/** The rings (first folders, or `a2a/NAME`) that a ring may import, besides itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  scrub: ['core'],
  stores: ['core'],
  disk: ['core'],
  parsing: ['core', 'disk'],
  agents: ['core', 'scrub'],
  models: ['core'],
  capabilities: ['core', 'stores', 'scrub', 'disk', 'parsing', 'http', 'terminal'],
  terminal: ['core'],
  journal: ['core', 'scrub', 'stores'],
  replay: ['core', 'agents', 'journal', 'scrub', 'stores'],
  evals: ['core', 'agents', 'config', 'replay', 'a2a/client', 'owners', 'http'],
  storage: ['core', 'stores'],
  owners: ['core', 'stores'],
  'a2a/translate': ['core'],
  'a2a/server': ['core', 'a2a/translate'],
  'a2a/client': ['core', 'a2a/translate'],
  http: ['core'],
  console: ['core'],
  telemetry: ['core', 'stores'],
  config: ['core', 'disk', 'capabilities'],
  cli: [
    ...['core', 'config', 'app.ts', 'a2a/client', 'http', 'logging.ts', 'owners', 'stores'],
    ...['terminal', 'disk', 'capabilities', 'replay', 'evals'],
  ],
  'logging.ts': ['core'],
};

/** The composers put the rest together: they may import everything, and only `app.ts` may import `app`. */
const COMPOSERS = ['app.ts', 'app', 'index.ts'];

/** Rings whose members (their sub-folders) never import each other; shared code is in the ring's root. */
const FAMILIES = ['models', 'capabilities', 'storage'];

/** The only folders that may import a library. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  '@a2a-js/sdk': ['a2a'],
  '@anthropic-ai/sdk': ['models/anthropic'],
  openai: ['models/openai'],
  '@ai-sdk': ['models/ai-sdk'],
  'better-sqlite3': ['storage/sqlite'],
  pg: ['storage/postgres'],
  // a2a/server imports types only, for the routes that it adds to a router.
  express: ['http', 'a2a/server'],
  'node-fetch': ['http'],
  winston: ['logging.ts'],
  jose: ['a2a', 'http', 'capabilities/secrets/crypto'],
  '@grpc/grpc-js': ['a2a/server/grpc', 'a2a/client'],
  '@bufbuild/protobuf': ['a2a/server/grpc', 'a2a/client'],
  '@opentelemetry': ['telemetry'],
  viem: ['capabilities/payments'],
  '@x402': ['capabilities/payments'],
  'playwright-core': ['capabilities/browser'],
  'openid-client': ['console', 'http', 'capabilities/mcp'],
  '@modelcontextprotocol': ['capabilities/mcp', 'a2a/server/mcp'],
  '@mozilla/readability': ['capabilities/browser'],
  'node-html-markdown': ['parsing'],
  // Parsers of foreign bytes: only parsing/parser-entry.ts loads the files that import them.
  unpdf: ['parsing'],
  tar: ['capabilities/skills'],
  yauzl: ['capabilities/skills'],
  '@huggingface/transformers': ['capabilities/knowledge/embeddings/local.ts'],
  yaml: ['config', 'capabilities/skills'],
  commander: ['cli'],
  '@clack/prompts': ['terminal', 'cli', 'capabilities/secrets'],
  picocolors: ['terminal'],
};

/** Modules that can open a connection, or make another module do so. Types open nothing. */
const CONNECTING =
  /^(node:(https?|http2|net|tls|dgram|dns)|undici|ws|node-fetch|pg|@grpc\/grpc-js|@a2a-js\/sdk\/client|@anthropic-ai\/sdk|openai|viem(?!\/accounts)|@x402(?!\/core\/(schemas|types)$)|playwright-core|@modelcontextprotocol\/client|@huggingface\/transformers|@opentelemetry\/exporter-[a-z-]+)(\/|$)/;
/** Members of those modules that only listen, check addresses and certificates, or name things. */
const HARMLESS = new Set([
  ...['createServer', 'isIP', 'isIPv4', 'isIPv6', 'BlockList', 'Metadata', 'status'],
  ...['createSecureContext', 'getCACertificates', 'checkServerIdentity'],
  ...[
    'Server',
    'ServerCredentials',
    'ServerInterceptingCall',
    'logVerbosity',
    'setLogVerbosity',
    'ServiceParameters',
    'withA2AExtensions',
    'withA2AVersion',
  ],
]);

/** The only modules that import such a library. Tests of each module show that it enforces its limits. */
const OPENERS: readonly string[] = [
  // The egress client: it checks every address at the connection.
  'http/checked-connections.ts',
  // The proxy that the operator named, for the egress client.
  // The database that the operator named.
  'storage/postgres/connection.ts',
  // The collector that the operator named.
  'telemetry/exporter.ts',
  // The browser's proxy, over the same agents, and the browser, which has no other connection.
  'http/browsing-proxy.ts',
  'capabilities/browser/launch.ts',
  // gRPC to peers: to a checked address, never to a name.
  'http/address-check.ts',
  'a2a/client/grpc-channel.ts',
  // Libraries that get the egress client.
  'a2a/client/link.ts',
  'a2a/client/card.ts',
  'models/anthropic/provider.ts',
  'models/openai/provider.ts',
  'capabilities/payments/connection.ts',
  'capabilities/mcp/connection.ts',
  'capabilities/mcp/issuer.ts',
];

const BANNED_NAMES = /(^|[-/.])(util|utils|common|manager|base|misc|impl|helper|helpers)(?=[-/.])/;

interface Source {
  /** The path relative to src/, with slashes. */
  readonly file: string;
  readonly text: string;
  readonly imports: readonly string[];
}

const sources = readSources(SRC);

describe('the sources', () => {
  it('are found by this test', () => {
    expect(sources.length).toBeGreaterThan(50);
  });

  it('have rings that import only what their row of the table allows', () => {
    const broken = sources.flatMap((source) =>
      localImports(source)
        .filter((target) => !mayImport(source.file, target))
        .map((target) => `${source.file} imports ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('keep the members of a family apart', () => {
    const broken = sources.flatMap((source) =>
      localImports(source)
        .filter((target) => crossesFamily(source.file, target))
        .map((target) => `${source.file} imports ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('import each library in its own folder only', () => {
    const broken = sources.flatMap(({ file, imports }) =>
      imports
        .filter((name) => !name.startsWith('.'))
        .filter((name) => !isAtHome(file, name))
        .map((name) => `${file} imports ${name}`),
    );
    expect(broken).toEqual([]);
  });

  it('read the environment in one file', () => {
    const readers = sources.filter(({ text }) => /process\.env\b/.test(text)).map(({ file }) => file);
    expect(readers).toEqual(['config/env.ts']);
  });

  it('have no import rings', () => {
    expect(findRing(new Map(sources.map((source) => [source.file, localImports(source)])))).toBeUndefined();
  });

  it('open connections only in the listed modules, and reach the web through the egress client', () => {
    const openers = sources.filter(({ text }) => connects(code(text)));
    expect(openers.map(({ file }) => file).sort()).toEqual([...OPENERS].sort());
    const globalFetch = sources
      .filter(({ text }) => /(?<![.\w])(fetch\(|new (WebSocket|EventSource)\b)/.test(code(text)))
      .map(({ file }) => file);
    expect(globalFetch.filter((file) => file !== 'http/egress.ts')).toEqual([]);
  });

  it('hand the events of an agent to a peer of the same process without the protocol in between', () => {
    const direct = [
      'server/agent-tasks',
      'server/local-tasks',
      'client/peer',
      'client/watch',
      'client/reader',
    ];
    const ofWire = /@a2a-js\/sdk|\b(?:to|from)Wire(?!Error\b)\w*/;
    const found = direct.filter((name) =>
      ofWire.test(sources.find(({ file }) => file === `a2a/${name}.ts`)?.text ?? '@a2a-js/sdk'),
    );
    expect(found).toEqual([]);
  });

  it('have no default exports, no any, and no banned words in file names', () => {
    const wrong = sources
      .filter(
        ({ file, text }) =>
          /^export default /m.test(text) ||
          /[:<|] any\b|as any\b/.test(code(text)) ||
          BANNED_NAMES.test(file),
      )
      .map(({ file }) => file);
    expect(wrong).toEqual([]);
  });
});

describe('the pages of the console', () => {
  const pages = readSources(path.join(SRC, 'console/web'), /\.tsx?$/).map((page) => ({
    ...page,
    file: `console/web/${page.file}`,
  }));

  it('import from the server only modules of core that run in a browser, and types of core', () => {
    const broken = pages.flatMap((page) =>
      [
        ...localImports({ ...page, imports: valuesOf(page) }).filter((target) => !reachesOnlyCore(target)),
        ...localImports(page).filter((target) => ringOf(target) !== 'core'),
      ]
        .filter((target) => !target.startsWith('console/web/'))
        .map((target) => `${page.file} imports ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('import their own libraries, and none of the server', () => {
    const names = pages.flatMap(({ imports }) => imports.filter((name) => !name.startsWith('.')));
    const libraries = ['@preact/signals', 'dompurify', 'marked', 'preact', 'preact/hooks', 'uplot'];
    expect([...new Set(names)].sort()).toEqual(libraries);
  });

  it('contain no URN of an extension', () => {
    expect(pages.filter(({ text }) => text.includes('urn:lango:')).map(({ file }) => file)).toEqual([]);
  });
});

describe('all sources', () => {
  const all = ['src', 'test', 'lab', 'scripts', 'examples'].flatMap((folder) =>
    readSources(path.resolve(folder)).map((source) => ({ ...source, file: `${folder}/${source.file}` })),
  );

  it('keep private members private by the language: #private, not only for the compiler', () => {
    const declared = all.filter(({ text }) => /^\s+private (?!constructor\b)/m.test(code(text)));
    expect(declared.map(({ file }) => file)).toEqual([]);
  });

  it('name what is built only in test/support/built.ts, which builds it anew when it is old', () => {
    const naming = all
      .filter(({ file, text }) => file.startsWith('test/') && /['`]dist\/|from '(lango)'/.test(text))
      .map(({ file }) => file);
    // test/e2e/kill.test.ts builds what this process imports.
    expect(naming).toEqual(['test/support/kill-target.ts']);
  });
});

describe('the sources outside the capabilities', () => {
  it('do not name payments, except for the fixed texts of the requirements', () => {
    const outside = sources.filter(
      ({ file, text }) => /payment/i.test(text) && !file.startsWith('capabilities/payments/'),
    );
    expect(outside.map(({ file }) => file).sort()).toEqual([
      'agents/agent-specs.ts',
      'agents/capabilities.ts',
      'capabilities/index.ts',
    ]);
  });

  it('import what is in the root of the capabilities, and no capability itself', () => {
    const importing = sources.flatMap((source) =>
      source.file.startsWith('capabilities/')
        ? []
        : localImports(source)
            .filter((target) => /^capabilities\/[^/]+\//.test(target))
            .map((target) => `${source.file} imports ${target}`),
    );
    expect(importing).toEqual([]);
  });
});

/** Whether a module and all that it imports lie in core, and import neither Node's modules nor libraries. */
function reachesOnlyCore(file: string): boolean {
  const source = sources.find((one) => one.file === file);
  if (!source || ringOf(file) !== 'core') return false;
  const imports = valuesOf(source);
  return (
    imports.every((name) => name.startsWith('.')) &&
    localImports({ ...source, imports }).every(reachesOnlyCore)
  );
}

function readSources(root: string, name = /\.ts$/): readonly Source[] {
  return (
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      // The pages of the console run in the browser, as a program of their own.
      .filter((file) => name.test(file) && !file.startsWith(path.join('console', 'web')))
      .map((file) => {
        const text = readFileSync(path.join(root, file), 'utf8');
        const imports = [...text.matchAll(/(?:from\s+|import\s+|import\(\s*)'([^']+)'/g)].map(
          (match) => match[1]!,
        );
        return { file: file.split(path.sep).join('/'), text, imports };
      })
  );
}

/** The imports that are there when the program runs. */
function valuesOf({ text, imports }: Source): readonly string[] {
  const types = new Set([...text.matchAll(/import type [^;]*?from '([^']+)'/g)].map((match) => match[1]!));
  return imports.filter((name) => !types.has(name));
}

function localImports({ file, imports }: Source): readonly string[] {
  return imports
    .filter((name) => name.startsWith('.'))
    .map((name) =>
      path.posix.normalize(path.posix.join(path.posix.dirname(file), name)).replace(/\.js$/, '.ts'),
    );
}

function ringOf(file: string): string {
  const [first, second] = file.split('/');
  return first === 'a2a' ? `a2a/${second}` : first!;
}

function mayImport(file: string, target: string): boolean {
  const from = ringOf(file);
  const to = ringOf(target);
  if (from === to || COMPOSERS.includes(from)) return true;
  return MAY_IMPORT[from]?.includes(to) ?? false;
}

function crossesFamily(file: string, target: string): boolean {
  const [ring, member, ...rest] = file.split('/');
  const [targetRing, targetMember, ...targetRest] = target.split('/');
  if (ring !== targetRing || !FAMILIES.includes(ring!) || rest.length === 0) return false;
  return targetRest.length > 0 && member !== targetMember;
}

function isAtHome(file: string, name: string): boolean {
  const library = Object.keys(HOMES).find((known) => name === known || name.startsWith(`${known}/`));
  return !library || HOMES[library]!.some((home) => file === home || file.startsWith(`${home}/`));
}

function findRing(graph: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const next of graph.get(file) ?? []) {
      const ring = visit(next, [...path, file]);
      if (ring) return ring;
    }
    done.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const ring = visit(file, []);
    if (ring) return ring;
  }
  return undefined;
}

/** Whether a file imports, by value, something that can open a connection. */
function connects(text: string): boolean {
  const statics = [...text.matchAll(/^import (?!type\b)([^;]*?) from '([^']+)'/gm)].filter(
    ([, what = '']) => {
      const values = what.replace(/\btype \w+( as \w+)?/g, '').match(/\w+/g);
      return values?.some((name) => !HARMLESS.has(name)) ?? true;
    },
  );
  const names = [...statics.map((match) => match[2]!), ...loadedLater(text)];
  return names.some((name) => CONNECTING.test(name));
}

function loadedLater(text: string): readonly string[] {
  return [...text.matchAll(/(?<!typeof )import\(\s*'([^']+)'/g)].map((match) => match[1]!);
}

/** The code without comments, roughly. */
function code(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');
}
