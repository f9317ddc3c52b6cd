import type { Taken } from './child.js';
import type { Case, Outcome, Scene } from './corpus.js';
import { serve } from './mcp.js';

const PUBLIC = '93.184.216.34';
const PRIVATE = [
  ...[
    '127.0.0.1',
    '127.8.9.1',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
  ],
  ...[
    '::1',
    '::',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    'fe80::1',
    'fd00::1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
  ],
];

/** The name in the configured address of an MCP server, which resolves to other addresses once its tools are known. */
export function changedNames(): readonly Case[] {
  const one = (name: string, later: readonly string[], isRight = false): Case => ({
    ...{ name, isRight },
    act: (scene) => rename(scene, later, isRight),
  });
  return [
    one('another public address', ['93.184.216.35'], true),
    ...PRIVATE.map((address) => one(address, [address])),
    ...PRIVATE.map((address) => one(`${address} besides a public one`, [PUBLIC, address])),
    ...PRIVATE.map((address) => one(`${address} before a public one`, [address, PUBLIC])),
  ];
}

let made = 0;

async function rename(scene: Scene, later: readonly string[], isRight: boolean): Promise<Outcome> {
  const { stage, stranger } = scene;
  const requests = serve(stranger, {});
  // Each case has a name of its own, as the server remembers what a name resolved to.
  const host = `case-${(made += 1)}.example`;
  const url = `http://${host}:${new URL(stranger.url).port}/mcp`;
  const { outcome } = await stage.ask<Taken>({ kind: 'rename', url, addresses: [[PUBLIC], later] });
  const called = requests.includes('tools/call');
  if (!requests.includes('tools/list')) return { finding: 'its tools were not asked for' };
  if (!isRight && called) return { finding: `the server was called at ${later.join()}` };
  return called ? outcome : 'refused';
}
