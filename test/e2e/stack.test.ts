import { pagesOf } from '../../src/core/page.js';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Stack, stackProblem } from '../support/stack.js';

const docker = async (...args: string[]) => (await promisify(execFile)('docker', args)).stdout;

const problem = stackProblem();
if (problem !== undefined) console.warn(`SKIPPED: the containers of docker-compose.yml: ${problem}.`);

/** The navigator may open the proxy, which has a private address. */
const OVERRIDE = `
  navigator:
    volumes: ['./navigator.yaml:/etc/lango/sub-agent.yaml:ro']
`;

/** The parts of `docker inspect` that the tests read. */
interface Inspected {
  readonly Name: string;
  readonly Config: { readonly User: string; readonly Healthcheck: { readonly Test: readonly string[] } };
  readonly HostConfig: {
    readonly Memory: number;
    readonly PidsLimit: number;
    readonly SecurityOpt: string[];
  };
  readonly Mounts: readonly { readonly Name?: string }[];
}

/** Sentences that store something on the volume of an agent, and sentences that read it. */
const KEPT: readonly (readonly [agent: string, keeps: string, asks: string, holds: string])[] = [
  ['operator', 'create a file note.txt with hello', 'run cat note.txt', 'stdout: hello'],
  ['vault', 'store the secret swordfish-9000 as kitten', 'which secrets are there', 'kitten'],
  ['vault', 'create a key named paw', 'which keys are there', 'paw'],
  ['librarian', 'save knowledge kitten: it drinks milk', 'what do you know about milk?', 'drinks milk'],
  ['librarian', 'add to the graph that kitten depends on milk', 'what depends on milk?', 'kitten'],
  [
    'chronicler',
    'remember that the kitten sleeps',
    'what do you remember about the kitten?',
    'kitten sleeps',
  ],
];

(problem === undefined ? describe : describe.skip)('the containers of docker-compose.yml', () => {
  let stack: Stack;
  const findAll = async () => {
    for (const [, , asks, holds] of KEPT)
      expect([asks, await stack.ask(asks)]).toEqual([asks, expect.stringContaining(holds)]);
  };

  beforeAll(async () => {
    stack = await Stack.open(OVERRIDE);
    await stack.allowInBrowser('proxy:4100');
    await stack.up();
  }, 900_000);
  afterAll(() => stack.close(), 120_000);

  it('do the work of every sub-agent', async () => {
    for (const [, keeps] of KEPT) await stack.ask(keeps);
    await findAll();
    expect(await stack.ask('make a plan for a walk')).toContain('Plan: a walk');
    expect(await stack.ask('open http://proxy:4100/console/')).toContain('Lango');
  });

  it('accept the name of an owner from the orchestrator only', async () => {
    expect(await stack.get('vault', '/lango/secrets')).toBe('401');
    expect(await stack.get('orchestrator-1', '/lango/agents')).toContain('vault');
  });

  it('store the data of people at the orchestrator on the node of its agent', async () => {
    const { owner } = stack.people.anna;
    await owner.storeSecret({ name: 'typed', value: 'marmalade-5561' });
    expect(await stack.ask('which secrets are there')).toContain('typed');
    const content = Buffer.from('The quokka lives on Rottnest Island.');
    await owner.submitDocument({ collection: 'documents', origin: 'file:///q.txt', name: 'q.txt', content });
    expect(await stack.ask('what do you know about the quokka?')).toContain('Rottnest');
    // The image of the orchestrator has no package for wallets.
    const privateKey = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d';
    expect((await owner.importWallet({ privateKey })).address).toMatch(/^0x70997970/);
    const kept: Record<string, unknown[]> = {};
    for (const kind of (await owner.listDataKinds({})).kinds) {
      kept[kind] = [];
      for await (const { items } of pagesOf((after) => owner.readData({ kind, after })))
        kept[kind].push(...items);
    }
    expect(JSON.stringify(kept['facts'])).toContain('kitten sleeps');
    expect(JSON.stringify(kept['files'])).toContain('note.txt');
  });

  it('use the secrets of each person on another node, and show nobody a value', async () => {
    const values = { anna: 'annas-S3cr3t-4711', ben: 'bens-S3cr3t-0815' };
    for (const name of ['anna', 'ben'] as const) {
      const { owner } = stack.people[name];
      await owner.storeSecret({ name: 'api', value: values[name], places: ['exec'] });
      const said = await stack.ask('run `printenv T; printenv T | sha256sum` with the secret api as T', name);
      const hash = createHash('sha256').update(`${values[name]}\n`).digest('hex');
      expect([name, said]).toEqual([name, expect.stringContaining(hash)]);
      expect(said).toContain('{{secret:api}}');
      await stack.ask(`create a skill named manner: answer as ${name} does`, name);
      expect(await stack.ask('use the skill manner', name)).toContain(`answer as ${name} does`);
    }
    await stack.people.anna.owner.allowSecret({ name: 'api', places: [] });
    const refused = await stack.ask('run `printenv T` with the secret api as T');
    expect(refused).toContain('may not be used in commands');
    const logs = await stack.compose(['logs', '--no-color']);
    for (const value of Object.values(values)) {
      expect(logs).not.toContain(value);
      for (const node of ['operator', 'vault', 'orchestrator-1'])
        await expect(stack.inside(node, 'grep', '-rqa', value, '/data')).rejects.toMatchObject({ code: 1 });
    }
    const words = ['"useSecret"', '"user:anna"', '"by":"operator"', '"subject":"api exec"'];
    expect(logs.split('\n').filter((line) => words.every((word) => line.includes(word)))).not.toEqual([]);
  });

  it('have no rights beyond those they need', async () => {
    const ids = (await stack.compose(['ps', '-q'])).trim().split('\n');
    expect(ids).toHaveLength(10);
    for (const id of ids) {
      const [{ Name, Config, HostConfig, Mounts }] = JSON.parse(await docker('inspect', id)) as [Inspected];
      const limits = { ReadonlyRootfs: true, Privileged: false, CapDrop: ['ALL'] };
      expect([Name, HostConfig]).toEqual([Name, expect.objectContaining(limits)]);
      expect([Name, Config.User]).toEqual([Name, 'node']);
      expect(Math.min(HostConfig.Memory, HostConfig.PidsLimit)).toBeGreaterThan(0);
      expect(HostConfig.SecurityOpt).toContain('no-new-privileges:true');
      expect(Config.Healthcheck.Test).not.toEqual(['NONE']);
      // A volume without a name of its own would be lost with its container.
      expect(Mounts.filter((mount) => /^[0-9a-f]{64}$/.test(mount.Name ?? ''))).toEqual([]);
      const touched = docker('exec', id, 'touch', '/touched', '/usr/touched');
      await expect(touched).rejects.toThrow(/Read-only/);
    }
  });

  it('lose no task when a replica is killed', async () => {
    const answers = Promise.all(
      [1, 2, 3, 4].map((number) => stack.ask(`run sleep 6; echo survived ${number}`)),
    );
    await stack.until(async () => (await stack.working()) === 4);
    await docker('kill', await stack.container('orchestrator-1'));
    expect((await answers).map((text) => /survived \d/.exec(text)?.[0])).toEqual(
      [1, 2, 3, 4].map((number) => `survived ${number}`),
    );
    await stack.up();
  }, 180_000);

  it('report what is unavailable while the vault is stopped, and continue when it is back', async () => {
    const command = 'run `printenv T` with the secret api as T';
    await docker('stop', await stack.container('vault'));
    expect(await stack.ask(command, 'ben')).toContain('The server that keeps the secrets, http://vault:4100');
    await docker('start', await stack.container('vault'));
    await stack.ready();
    expect(await stack.ask(command, 'ben')).toContain('{{secret:api}}');
  }, 180_000);

  it('continue without a stopped node, and find it again', async () => {
    const operator = await stack.container('operator');
    await docker('stop', operator);
    await stack.ready(['operator']);
    expect(await stack.ask('run cat note.txt')).toContain('operator, which this server cannot reach');
    expect(await stack.ask('what do you know about milk?')).toContain('drinks milk');
    await docker('start', operator);
    await stack.ready();
    await findAll();
  }, 180_000);

  it('have their stored data when all of them were killed and started again', async () => {
    await docker('kill', ...(await stack.compose(['ps', '-q'])).trim().split('\n'));
    await stack.up();
    await findAll();
  }, 180_000);

  it('are upgraded one by one, and keep their volumes', async () => {
    const tag = `next-${process.pid}`;
    await stack.newVersion(tag);
    try {
      for (const service of ['librarian', 'orchestrator-1'])
        await stack.compose(['up', '--detach', '--no-build', '--no-deps', service], { LANGO_VERSION: tag });
      await stack.ready();
      const image = await docker(
        'inspect',
        '--format',
        '{{.Config.Image}}',
        await stack.container('librarian'),
      );
      expect(image.trim()).toBe(`lango:${tag}`);
      await findAll();
    } finally {
      await stack.compose(['down', '--timeout', '30']);
      await docker('rmi', `lango:${tag}`);
    }
    await stack.up();
    await findAll();
  }, 300_000);
});
