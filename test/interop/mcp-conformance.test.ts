import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Obedient } from '../support/obedient-model.js';
import { startServer, type TestServer } from '../support/server.js';
import { record } from './cell.js';
import { describeWith, PEERS } from './framework.js';
import { excuseFor, REVISIONS, runConformance, staleExcuses } from './mcp-conformance.js';
import type { Revision, Role, Verdict } from './mcp-conformance.js';
import { useServer, type Scenario } from './mcp-person.js';
import { openStandIn, STAND_INS } from './mcp-stand-in.js';

const RUN_MS = 300_000;
const SCENARIO_MS = 120_000;

/** Checks that each scenario works or has a reason why it does not apply, and that no reason is stale. */
async function check(role: Role, revision: Revision, run: () => Promise<readonly Verdict[]>): Promise<void> {
  const isFault = (failed: string) => excuseFor(failed, role, revision) === undefined;
  const faultsIn = (all: readonly Verdict[]) => all.filter(({ failed }) => failed.some(isFault));
  let verdicts = await run();
  // Some scenarios wait for only half a second, which a loaded machine may exceed: a real fault shows in a second run
  // too.
  if (faultsIn(verdicts).length > 0) verdicts = await run();
  const faults = faultsIn(verdicts);
  expect(faults.map(({ scenario, messages }) => ({ scenario, messages }))).toEqual([]);
  expect(staleExcuses(verdicts, role, revision)).toEqual([]);
  for (const { scenario: operation, works, failed } of verdicts) {
    const at = { peer: 'MCP', role: `conformance ${role}`, transport: '', version: revision, operation };
    const excuses = failed.map((one) => excuseFor(one, role, revision)!);
    if (works && !excuses.some(({ isWhole }) => isWhole)) record({ ...at, works: true });
    for (const why of new Set(excuses.map((excuse) => excuse.why))) record({ ...at, why });
  }
}

/** The conformance tool of MCP: the requirements of each version of the protocol on servers and clients. */
describeWith('mcp-conformance', () => {
  describe('Lango as a server', () => {
    let server: TestServer;
    let standIn: { server: Server; url: string };
    beforeAll(async () => {
      server = await startServer({
        agents: STAND_INS,
        model: new Obedient(),
        settings: { server: { port: 0 }, mcp: { serve: true } },
      });
      standIn = await openStandIn(server);
    });
    afterAll(async () => {
      standIn.server.close();
      standIn.server.closeAllConnections();
      await server.stop();
    });

    it.each(REVISIONS)(
      'conforms to %s',
      (revision) => check('server', revision, () => runConformance('server', revision, '--url', standIn.url)),
      RUN_MS,
    );
  });

  describe('Lango as a client', () => {
    const said = new Map<string, string>();
    const driver = createServer((request, response) => {
      void text(request).then(async (body) => {
        const scenario = JSON.parse(body) as Scenario;
        const { failed, words } = await useServer(scenario);
        said.set(scenario.scenario, words);
        response.writeHead(failed ? 500 : 200).end(words);
      });
    });
    beforeAll(async () => {
      driver.listen(0, '127.0.0.1');
      await once(driver, 'listening');
    });
    afterAll(() => {
      driver.close();
      driver.closeAllConnections();
    });

    it.each(REVISIONS)(
      'conforms to %s',
      async (revision) => {
        const { port } = driver.address() as AddressInfo;
        const client = path.join(PEERS, 'conformance-client.mjs');
        const command = `${process.execPath} ${client} ${port}`;
        const args = ['--command', command, '--timeout', String(SCENARIO_MS)];
        await check('client', revision, async () => {
          const verdicts = await runConformance('client', revision, ...args);
          return verdicts.map((one) => ({
            ...one,
            messages: [...one.messages, said.get(one.scenario) ?? ''],
          }));
        });
      },
      RUN_MS,
    );
  });
});
