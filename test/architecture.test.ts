import { describe, expect, it } from '@jest/globals';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** The import rules of the house (ARCHITECTURE.md), read from the sources: nobody can switch them off quietly. */

const SRC = path.resolve('src');

/** Which rings (first folders, or `a2a/NAME`) a ring may import, besides itself. */
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
    ...['terminal', 'disk', 'capabilities'],
  ],
  'logging.ts': ['core'],
};

/** They put the rest together: they may import everything, and `app` itself is only for `app.ts`. */
const COMPOSERS = ['app.ts', 'app', 'index.ts'];

/** Rings whose members (their sub-folders) never import each other; what they share lies in the ring's root. */
const FAMILIES = ['models', 'capabilities', 'storage'];

/** A library that lives in one place only. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  '@a2a-js/sdk': ['a2a'],
  '@anthropic-ai/sdk': ['models/anthropic'],
  openai: ['models/openai'],
  'better-sqlite3': ['storage/sqlite'],
  pg: ['storage/postgres'],
  // In a2a/server for types alone: the routes that it adds to a router.
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
  // These parse bytes from outside: only parsing/parser-entry.ts loads the files that import them.
  unpdf: ['parsing'],
  tar: ['capabilities/skills'],
  yauzl: ['capabilities/skills'],
  '@huggingface/transformers': ['capabilities/knowledge/embeddings/local.ts'],
  yaml: ['config', 'capabilities/skills'],
  commander: ['cli'],
  '@clack/prompts': ['terminal', 'cli', 'capabilities/secrets'],
  picocolors: ['terminal'],
};

/** What can open a connection by itself, or make somebody else do so. Types open nothing. */
const CONNECTING =
  /^(node:(https?|http2|net|tls|dgram|dns)|undici|ws|node-fetch|pg|@grpc\/grpc-js|@a2a-js\/sdk\/client|@anthropic-ai\/sdk|openai|viem(?!\/accounts)|@x402(?!\/core\/(schemas|types)$)|playwright-core|@modelcontextprotocol\/client|@huggingface\/transformers|@opentelemetry\/exporter-[a-z-]+)(\/|$)/;
/** Of these modules, what only listens, looks at addresses and certificates, or names things. */
const HARMLESS = new Set([
  ...['createServer', 'isIP', 'isIPv4', 'isIPv6', 'BlockList', 'Metadata', 'status'],
  ...['createSecureContext', 'getCACertificates', 'checkServerIdentity'],
  ...[
    'Server',
    'ServerCredentials',
    'ServerInterceptingCall',
    'logVerbosity',
    'setLogVerbosity',
    'ClientCallContextKey',
  ],
]);

/** The only modules that import such a library. Tests of their behaviour show that each keeps its bounds. */
const OPENERS: readonly string[] = [
  // The egress client: every address is checked as it is connected to.
  'http/checked-connections.ts',
  // The database that the operator named.
  'storage/postgres/connection.ts',
  // The collector that the operator named.
  'telemetry/exporter.ts',
  // The browser's way out, over the same agents; and the browser, which has no other.
  'http/browsing-proxy.ts',
  'capabilities/browser/launch.ts',
  // gRPC to peers: to an address that was looked at, and to no name.
  'http/address-check.ts',
  'a2a/client/grpc-channel.ts',
  // Libraries that are given the egress client.
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
  /** Relative to src/, with slashes. */
  readonly file: string;
  readonly text: string;
  readonly imports: readonly string[];
}

const sources = readSources(SRC);

describe('the house', () => {
  it('has sources to look at', () => {
    expect(sources.length).toBeGreaterThan(50);
  });

  it('lets rings import only what their row of the table says', () => {
    const broken = sources.flatMap((source) =>
      localImports(source)
        .filter((target) => !mayImport(source.file, target))
        .map((target) => `${source.file} imports ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('keeps members of one family apart', () => {
    const broken = sources.flatMap((source) =>
      localImports(source)
        .filter((target) => crossesFamily(source.file, target))
        .map((target) => `${source.file} imports ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('gives each library one home', () => {
    const broken = sources.flatMap(({ file, imports }) =>
      imports
        .filter((name) => !name.startsWith('.'))
        .filter((name) => !isAtHome(file, name))
        .map((name) => `${file} imports ${name}`),
    );
    expect(broken).toEqual([]);
  });

  it('reads the environment in one file', () => {
    const readers = sources.filter(({ text }) => /process\.env\b/.test(text)).map(({ file }) => file);
    expect(readers).toEqual(['config/env.ts']);
  });

  it('has no import rings', () => {
    expect(findRing(new Map(sources.map((source) => [source.file, localImports(source)])))).toBeUndefined();
  });

  it('opens connections only where they are bounded, and goes to the web by the egress client', () => {
    const openers = sources.filter(({ text }) => connects(code(text)));
    expect(openers.map(({ file }) => file).sort()).toEqual([...OPENERS].sort());
    const globalFetch = sources
      .filter(({ text }) => /(?<![.\w])(fetch\(|new (WebSocket|EventSource)\b)/.test(code(text)))
      .map(({ file }) => file);
    expect(globalFetch.filter((file) => file !== 'http/egress.ts')).toEqual([]);
  });

  it('has no default exports, no any, and no banned words in file names', () => {
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

describe('the rest of the sources', () => {
  it('names no payment outside of its capability, but for the fixed texts of the requirements', () => {
    const outside = sources.filter(
      ({ file, text }) => /payment/i.test(text) && !file.startsWith('capabilities/payments/'),
    );
    expect(outside.map(({ file }) => file).sort()).toEqual([
      'agents/agent-specs.ts',
      'agents/capabilities.ts',
      'capabilities/index.ts',
    ]);
  });

  it('imports the list of capabilities, and no capability itself', () => {
    const importing = sources.flatMap((source) =>
      source.file.startsWith('capabilities/')
        ? []
        : localImports(source)
            .filter((target) => target.startsWith('capabilities/') && target !== 'capabilities/index.ts')
            .map((target) => `${source.file} imports ${target}`),
    );
    expect(importing).toEqual([]);
  });
});

function readSources(root: string): readonly Source[] {
  return (
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      // What runs in the browser is a program of its own, and imports nothing of the server.
      .filter((file) => file.endsWith('.ts') && !file.startsWith(path.join('console', 'web')))
      .map((file) => {
        const text = readFileSync(path.join(root, file), 'utf8');
        const imports = [...text.matchAll(/(?:from\s+|import\s+|import\(\s*)'([^']+)'/g)].map(
          (match) => match[1]!,
        );
        return { file: file.split(path.sep).join('/'), text, imports };
      })
  );
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

/** Whether it imports, by value, something that can open a connection. */
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

/** The text without comments, roughly. */
function code(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');
}
