import { createOwnerClient, type OwnerClient } from './owner-client.js';
import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/config/package-root.js';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { replyPart, connect, textPart, type AgentClient } from '../../src/index.js';
import { freePort } from './free-port.js';

const run = promisify(execFile);
/** The program that runs compose, with its first arguments: `docker-compose` or `docker compose`. */
const COMPOSE = (process.env['LANGO_TEST_COMPOSE'] ?? 'docker-compose').split(' ');

/** The states of a sub-agent that gets no work. */
const AWAY = ['skipped', 'open'];

/** The reason why the containers cannot be started here; undefined when they can. */
export function stackProblem(): string | undefined {
  if (process.env['LANGO_STACK'] !== '1') return 'it builds images for minutes; npm run stack does';
  const works = (file: string, ...args: string[]) => spawnSync(file, args, { stdio: 'ignore' }).status === 0;
  if (process.getuid?.() !== 0) return 'it gives files to the user of the containers, which takes root';
  if (!works('docker', 'info')) return 'no Docker engine answers';
  return works(COMPOSE[0]!, ...COMPOSE.slice(1), 'version') ? undefined : `${COMPOSE.join(' ')} is not here`;
}

/** The people of the stack: each is an owner. */
const PEOPLE = ['anna', 'ben'] as const;
type Name = (typeof PEOPLE)[number];

interface Person {
  readonly token: string;
  readonly client: AgentClient;
  /** A client of the person's stored data, over the proxy. */
  readonly owner: OwnerClient;
}

/** Additions to the configuration of the orchestrator: two people, whose tokens the test signs. */
const ISSUER = 'https://issuer.test';
const AUTH = `auth:
  mode: jwt
  jwt: { issuer: ${ISSUER}, audience: [lango], jwksFile: /etc/lango/jwks.json }
`;
const OVERRIDE = `
services:
${[1, 2]
  .map(
    (number) => `  orchestrator-${number}:
    volumes:
      - './orchestrator.yaml:/etc/lango/orchestrator.yaml:ro'
      - './jwks.json:/etc/lango/jwks.json:ro'
`,
  )
  .join('')}`;

/** The containers of docker-compose.yml, with volumes and secrets of their own. */
export class Stack {
  readonly url: string;
  readonly people: Readonly<Record<Name, Person>>;
  readonly #folder: string;
  readonly #project = `lango-test-${process.pid}`;

  private constructor(folder: string, port: number, tokens: readonly string[]) {
    this.#folder = folder;
    this.url = `http://127.0.0.1:${port}`;
    const people = PEOPLE.map((name, index) => [name, personAt(this.url, tokens[index]!)] as const);
    this.people = Object.fromEntries(people) as Record<Name, Person>;
  }

  /** Builds the images, and a folder with the secrets. `override` holds further services of a second compose file. */
  static async open(override: string): Promise<Stack> {
    await buildImages();
    const folder = await mkdtemp(join(tmpdir(), 'lango-stack-'));
    await cp(join(packageRoot(), 'deploy'), join(folder, 'deploy'), { recursive: true });
    await cp(join(packageRoot(), 'docker-compose.yml'), join(folder, 'docker-compose.yml'));
    await writeFile(join(folder, 'docker-compose.override.yml'), OVERRIDE + override);
    await run(join(folder, 'deploy/secrets.sh'), [], { cwd: folder });
    const config = await readFile(join(packageRoot(), 'deploy/nodes/orchestrator.yaml'), 'utf8');
    await writeFile(join(folder, 'orchestrator.yaml'), config + AUTH);
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(publicKey)), kid: 'test', alg: 'ES256', use: 'sig' };
    await writeFile(join(folder, 'jwks.json'), JSON.stringify({ keys: [jwk] }));
    const tokens = PEOPLE.map((sub) =>
      new SignJWT({ sub })
        .setProtectedHeader({ alg: 'ES256', kid: 'test' })
        .setIssuer(ISSUER)
        .setAudience('lango')
        .setExpirationTime('2h')
        .sign(privateKey),
    );
    return new Stack(folder, await freePort(), await Promise.all(tokens));
  }

  async compose(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    const [file, ...first] = COMPOSE;
    const { stdout } = await run(file!, [...first, '--project-name', this.#project, ...args], {
      cwd: this.#folder,
      env: { ...process.env, LANGO_PORT: new URL(this.url).port, LANGO_BASE_URL: this.url, ...env },
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout;
  }

  /** The id of the container of a service, which may be stopped. */
  async container(service: string): Promise<string> {
    return (await this.compose(['ps', '--all', '-q', service])).trim();
  }

  /** Starts what is not running, and resolves once all sub-agents accept work. */
  async up(): Promise<void> {
    await this.compose(['up', '--detach', '--no-build']);
    await this.ready();
  }

  /** Resolves once each replica of the orchestrator sees all sub-agents except those in `away`. */
  async ready(away: readonly string[] = []): Promise<void> {
    for (const replica of ['orchestrator-1', 'orchestrator-2'])
      await this.until(async () => {
        const { peers } = JSON.parse(await this.get(replica, '/lango/agents')) as {
          peers: { name: string; state: string }[];
        };
        return (
          peers.length > 5 &&
          peers.every(({ name, state }) => (away.includes(name) ? AWAY.includes(state) : state === 'ready'))
        );
      });
    await this.until(async () => (await fetch(`${this.url}/readyz`)).ok);
  }

  /** Sends GET to a node with the token of the people. Returns the body, or the status of a refusal. */
  async get(service: string, path: string): Promise<string> {
    const script = `fetch('http://127.0.0.1:4100${path}', { headers: { authorization: 'Bearer ${this.people.anna.token}' } })
      .then(async (answer) => process.stdout.write(answer.ok ? await answer.text() : String(answer.status)))`;
    return this.inside(service, 'node', '-e', script);
  }

  /** Runs a program in a container. Returns its output. */
  async inside(service: string, ...words: readonly string[]): Promise<string> {
    return (await run('docker', ['exec', await this.container(service), ...words])).stdout;
  }

  /** The number of running tasks. */
  async working(): Promise<number> {
    return (await this.people.anna.client.list({ state: 'working' })).totalSize;
  }

  /** Sends a message and approves its questions. Resolves with the text of the end. */
  async ask(text: string, name: Name = 'anna'): Promise<string> {
    const { client } = this.people[name];
    const send = async (request: Parameters<AgentClient['send']>[0]) => {
      let taskId = '';
      for await (const event of client.send(request, AbortSignal.timeout(100_000))) {
        if (event.type === 'task') taskId ||= event.taskId;
        if (event.type === 'end') return { ...event, taskId };
      }
      throw new Error('the stream had no end');
    };
    const first = await send({ parts: [textPart(text)] });
    const [question] = first.questions;
    if (!question) return first.text;
    const yes = replyPart({ hash: question.hash, decision: 'approve' });
    return (await send({ parts: [yes], taskId: first.taskId })).text;
  }

  /** Lets the navigator open a host with a private address. */
  async allowInBrowser(host: string): Promise<void> {
    const config = await readFile(join(this.#folder, 'deploy/nodes/sub-agent.yaml'), 'utf8');
    const browser = `tools: { browser: { allowHosts: ['${host}'] } }\n`;
    await writeFile(join(this.#folder, 'navigator.yaml'), config + browser);
  }

  /** Builds another image of the nodes, with its own tag. */
  async newVersion(tag: string): Promise<void> {
    await writeFile(join(this.#folder, 'Dockerfile'), `FROM lango\nLABEL version=${tag}\n`);
    const args = ['build', '--quiet', '--tag', `lango:${tag}`, '--file', 'Dockerfile', 'deploy/proxy'];
    await run('docker', args, { cwd: this.#folder });
  }

  async close(): Promise<void> {
    await this.compose(['down', '--volumes', '--timeout', '1']).catch(() => undefined);
    await rm(this.#folder, { recursive: true });
  }

  /** Repeats the check until it holds; an error counts as no. */
  async until(holds: () => Promise<boolean>): Promise<void> {
    for (const late = AbortSignal.timeout(100_000); !(await holds().catch(() => false)); await sleep(500))
      late.throwIfAborted();
  }
}

function personAt(url: string, token: string): Person {
  const authorization = `Bearer ${token}`;
  const withToken: typeof fetch = (input, init) =>
    fetch(input, { ...init, headers: { ...init?.headers, authorization } });
  return { token, client: connect({ url, token }), owner: createOwnerClient({ url, fetch: withToken }) };
}

async function buildImages(): Promise<void> {
  // The build uses the network of the host: some engines give a build none.
  const build = (name: string, ...args: string[]) =>
    run('docker', ['build', '--quiet', '--network', 'host', '--tag', name, ...args], { cwd: packageRoot() });
  await build('lango', '--target', 'lango', '.');
  await build('lango-full', '--target', 'full', '.');
  await build('lango-proxy', 'deploy/proxy');
  await build('lango-database', 'deploy/database');
}
