import { expect, it } from '@jest/globals';
import { changedKeys } from '../../src/config/describe.js';
import { readEnv } from '../../src/config/env.js';
import type { LoadedConfig } from '../../src/config/load.js';
import { resolveConfig } from '../../src/config/load.js';
import type { SettingsInput } from '../../src/config/schema.js';
import { unheld } from '../support/watchdog.js';

const load = (settings: SettingsInput): LoadedConfig =>
  resolveConfig({ env: readEnv({ LANGO_HOME: '/h' }), settings });

const far = { name: 'far', url: 'https://far.example', token: 'abcd' };

it.each<readonly [SettingsInput, SettingsInput, readonly string[]]>([
  [{}, {}, []],
  [{ server: { port: 4100 } }, {}, []],
  [{}, { server: { port: 1, limits: { bodyBytes: 5 } } }, ['server.port', 'server.limits.bodyBytes']],
  [{ workspace: ['a', 'b'] }, { workspace: ['b', 'a'] }, ['workspace']],
  [
    { auth: { token: 'abcd-91e7c4f2b8d05a63c7' } },
    { auth: { token: 'efgh-91e7c4f2b8d05a63c7' } },
    ['auth.token'],
  ],
  [{ auth: { token: 'abcd-91e7c4f2b8d05a63c7' } }, {}, ['auth.token']],
  [{ a2a: { remoteAgents: [far] } }, {}, ['a2a.remoteAgents']],
  [
    { mcp: { servers: { files: { command: 'files', env: { KEY: 'a' } } } } },
    { mcp: { servers: { files: { command: 'files', env: { KEY: 'b' } } } } },
    ['mcp.servers.files.env'],
  ],
  [
    { a2a: { remoteAgents: [far] } },
    { a2a: { remoteAgents: [{ ...far, name: 'x' }] } },
    ['a2a.remoteAgents'],
  ],
])('changedKeys names the keys that differ between %j and %j', (before, after, keys) => {
  expect(changedKeys(load(before), load(after))).toEqual(keys);
  expect(changedKeys(load(after), load(before)).toSorted()).toEqual([...keys].sort());
});

it('changedKeys does not block the event loop with 2,000 remote agents that may change', async () => {
  const remoteAgents = Array.from({ length: 2_000 }, (_, at) => ({ ...far, name: `far${at}` }));
  const [before, after] = [load({ a2a: { remoteAgents } }), load({ a2a: { enabled: true, remoteAgents } })];
  const except = new Set(['a2a.remoteAgents']);
  const { result } = await unheld(async () => changedKeys(before, after, except));
  expect(result).toEqual(['a2a.enabled']);
});
