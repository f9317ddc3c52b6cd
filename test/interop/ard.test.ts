import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { scriptedAgent } from '../support/scripted-agent.js';
import type { TestServer } from '../support/server.js';
import { startServer } from '../support/server.js';
import { FOLDER } from './framework.js';

/**
 * The conformance tool of Agentic Resource Discovery, from the folder `ard-spec` of `.ci/frameworks`: a copy of the
 * repository ards-project/ard-spec. It checks the schema too where its Python has `jsonschema`.
 */
const TOOL = path.join(FOLDER ?? '', 'ard-spec/conformance/bin/conformance-test');
const PYTHON = path.join(FOLDER ?? '', 'crewai/bin/python');

interface Verdict {
  readonly code: number;
  readonly said: string;
}

async function check(...args: readonly string[]): Promise<Verdict> {
  const python = existsSync(PYTHON) ? PYTHON : 'python3';
  const run = promisify(execFile)(python, [TOOL, ...args]);
  const { code = 0, stdout } = await run.then(
    ({ stdout: text }) => ({ code: 0, stdout: text }),
    (error: { code: number; stdout: string }) => error,
  );
  return { code, said: stdout };
}

if (!existsSync(TOOL)) {
  console.warn('SKIPPED: the conformance tool of ARD is not there. .ci/frameworks says where it goes.');
  it.skip('the conformance tool of ARD', () => undefined);
} else
  describe('the conformance tool of ARD', () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await startServer({ agents: [scriptedAgent('worker')] });
    });
    afterAll(() => server.stop());

    it.each(['ai-catalog.json', 'ard.json'])('passes the catalog at /.well-known/%s', async (name) => {
      const { code, said } = await check('manifest', `${server.address.origin}/.well-known/${name}`);
      expect(said).not.toMatch(/✗|⚠/);
      expect(code).toBe(0);
    });

    it('passes the registry', async () => {
      const { code, said } = await check('registry', `${server.address.origin}/ard`);
      expect(said).not.toContain('✗');
      expect(code).toBe(0);
    });

    it('fails an address that has neither', async () => {
      const wrong = `${server.address.origin}/agents/operator`;
      expect((await check('manifest', wrong)).code).not.toBe(0);
      expect((await check('registry', wrong)).code).not.toBe(0);
    });
  });
