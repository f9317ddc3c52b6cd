import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mainFile } from '../cli/lango-process.js';
import { Obedient } from '../support/obedient-model.js';
import { startServer, type TestServer } from '../support/server.js';
import { describeWith, FOLDER } from './framework.js';

/** The command line of MCP's Inspector, an independent client for testing servers by hand. */
const INSPECTOR = path.join(
  FOLDER ?? '',
  'mcp-inspector/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
);

interface Printed {
  readonly tools?: readonly { readonly name: string }[];
  readonly content?: readonly { readonly text?: string }[];
  readonly structuredContent?: object;
}

interface Inspected {
  readonly printed: Printed;
  readonly complaints: string;
}

describeWith('mcp-inspector', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer({
      model: new Obedient(),
      settings: { server: { port: 0 }, mcp: { serve: true } },
    });
  });
  afterAll(() => server.stop());

  /** The output of the Inspector as JSON, or `complaints` when it fails. */
  async function inspect(...args: readonly string[]): Promise<Inspected> {
    const env = { HOME: server.home, PATH: process.env['PATH'] };
    const all = [INSPECTOR, '--cli', ...args, '--quiet'];
    return promisify(execFile)(process.execPath, all, { env }).then(
      ({ stdout }) => ({ printed: JSON.parse(stdout) as Printed, complaints: '' }),
      ({ stderr }: { stderr: string }): Inspected => ({ printed: {}, complaints: stderr }),
    );
  }
  const overHttp = (token = server.address.token) => [
    ...[`${server.address.origin}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${token}`],
  ];
  const overStdio = () => [
    ...[process.execPath, mainFile(), 'mcp', 'serve', '-e', `LANGO_URL=${server.address.origin}`],
    ...['-e', `LANGO_TOKEN=${server.address.token}`],
  ];

  describe.each([
    ['HTTP', overHttp],
    ['lango mcp serve', overStdio],
  ] as const)('the Inspector over %s', (_, target) => {
    it.each(['legacy', 'modern'])('lists the agents and calls one, in the era %s', async (era) => {
      const to = [...target(), '--protocol-era', era];
      const { printed, complaints } = await inspect(...to, '--method', 'tools/list');
      expect(complaints).toBe('');
      const names = printed.tools?.map(({ name }) => name) ?? [];
      expect([...names].sort()).toEqual([...server.address.agents].sort());
      const call = ['--method', 'tools/call', '--tool-name', 'planner', '--tool-arg', 'message=hello'];
      const called = await inspect(...to, ...call);
      expect(called.printed.content).toEqual([{ type: 'text', text: 'nothing' }]);
      expect(called.printed.structuredContent).toMatchObject({ state: 'completed' });
    });
  });

  it('the Inspector is refused with a wrong token', async () => {
    const { printed, complaints } = await inspect(...overHttp('wrong'), '--method', 'tools/list');
    expect(printed).toEqual({});
    expect(complaints).toMatch(/401|unauthorized|auth/i);
  });
});
