import { afterEach, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { makeSecret, secretItems, workloadsOf, type Manifest } from '../deploy/kit.js';
import { readNode } from '../deploy/nodes.js';
import { containersOf, referenceFindings } from '../deploy/references.js';
import { langoHere } from './lango-here.js';
import { makeHome } from './lango-process.js';

const CONFIG = `
model: { provider: anthropic, name: claude-haiku-5-5, apiKey: '\${ANTHROPIC_API_KEY}' }
server: { host: 127.0.0.1, port: 4200, limits: { concurrentRuns: 5 } }
logging: { level: '\${MY_LEVEL:-debug}' }
`;

let home: Awaited<ReturnType<typeof makeHome>>;
const deploy = async (config: string, ...flags: string[]) => {
  home = await makeHome(config);
  return langoHere(['deploy', 'kubernetes', ...flags], home);
};
afterEach(() => home.remove());

describe('lango deploy kubernetes', () => {
  it('prints manifests whose front node has the configuration, and the address of the pod', async () => {
    const { code, stdout } = await deploy(CONFIG);
    expect(code).toBe(0);
    const secret = await makeSecret();
    const manifests = [...parseAllDocuments(stdout).map((one) => one.toJS() as Manifest), secret];
    expect(referenceFindings(manifests)).toEqual([]);
    const [node] = workloadsOf(manifests);
    const { env } = node!.pod.containers[0];
    expect(env).toContainEqual({
      name: 'ANTHROPIC_API_KEY',
      valueFrom: { secretKeyRef: { name: 'lango', key: 'anthropic-api-key' } },
    });
    expect(env).toContainEqual({
      name: 'MY_LEVEL',
      valueFrom: { secretKeyRef: { name: 'lango', key: 'my-level', optional: true } },
    });
    const { findings, keys } = await readNode(node!, manifests);
    expect(findings).toEqual([]);
    expect(Object.fromEntries(keys)).toMatchObject({
      'model.name': 'claude-haiku-5-5',
      'server.host': '0.0.0.0',
      'server.port': 4100,
      'server.limits.concurrentRuns': 5,
      'storage.sqlite.waitSeconds': 90,
    });
    expect(secretItems(node!.pod.volumes.find(({ name }) => name === 'secrets')!)).toHaveLength(2);
  });

  it('starts the pods again when the configuration has changed, and then only', async () => {
    const checksum = async (config: string) =>
      /checksum\/config: (\w+)/.exec((await deploy(config, '--shape', 'replicas')).stdout)?.[1];
    const first = await checksum('console: { enabled: true }');
    await home.remove();
    expect(await checksum('console: { enabled: true }')).toBe(first);
    await home.remove();
    expect(await checksum('console: { enabled: false }')).not.toBe(first);
  });

  it('takes a namespace, a registry and a tag', async () => {
    const flags = [
      '--shape',
      'stack',
      '--namespace',
      'agents',
      '--registry',
      'registry.example/a',
      '--tag',
      '7',
    ];
    const { stdout } = await deploy('', ...flags);
    const manifests = parseAllDocuments(stdout).map((one) => one.toJS() as Manifest);
    expect(
      new Set(
        manifests.map(({ kind, metadata }) => (kind === 'Namespace' ? metadata.name : metadata.namespace)),
      ),
    ).toEqual(new Set(['agents']));
    const images = workloadsOf(manifests).flatMap(({ pod }) => containersOf(pod).map(({ image }) => image));
    expect(new Set(images)).toEqual(
      new Set(['registry.example/a/lango:7', 'registry.example/a/lango-full:7']),
    );
  });

  it('refuses a file that holds a secret itself', async () => {
    const { code, stdout, stderr } = await deploy('model: { provider: anthropic, apiKey: sk-open-1234 }');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('model.apiKey');
    expect(stderr).not.toContain('sk-open-1234');
  });
});
