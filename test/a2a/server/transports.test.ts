import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fromWireError } from '../../../src/a2a/translate/errors.js';
import type { OperationCase } from '../../suites/a2a-operations.js';
import { BINDING_CASES, OPERATION_CASES } from '../../suites/a2a-operations.js';
import type { A2aNode } from '../../support/a2a-node.js';
import { startA2aNode } from '../../support/a2a-node.js';
import type { Way } from '../../support/a2a-transports.js';
import { waysTo } from '../../support/a2a-transports.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

let node: A2aNode;
let ways: readonly Way[];

beforeAll(async () => {
  node = await startA2aNode({ agents: [scriptedAgent('root'), scriptedAgent('operator')], grpc: true });
  ways = await waysTo(node, 'operator');
});

afterAll(() => node.stop());

/** What is different each time by its nature becomes a name: the first id is id1 wherever it stands. */
function withoutChance(value: unknown): unknown {
  const names = new Map<string, string>();
  const text = JSON.stringify(value) ?? 'undefined';
  const plain = text
    .replace(/"\d{4}-\d\d-\d\dT[^"]+"/g, '"TIME"')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => {
      if (!names.has(id)) names.set(id, `id${names.size + 1}`);
      return names.get(id)!;
    });
  return JSON.parse(plain === 'undefined' ? 'null' : plain) as unknown;
}

async function outcome(one: OperationCase, way: Way): Promise<unknown> {
  try {
    return { result: withoutChance(await one.ask(way, node)) };
  } catch (error) {
    const { code, message } = fromWireError(error);
    return { error: code, message: withoutChance(message) };
  }
}

async function compare(one: OperationCase, among: readonly Way[]): Promise<void> {
  const [first, ...others] = among;
  const expected = await outcome(one, first!);
  if (one.error === undefined) expect(expected).toHaveProperty('result');
  else expect(expected).toMatchObject({ error: one.error });
  if (one.expected !== undefined) expect(expected).toMatchObject({ result: one.expected });
  for (const way of others)
    expect({ way: way.name, ...((await outcome(one, way)) as object) }).toEqual({
      way: way.name,
      ...(expected as object),
    });
}

describe('X5 the same over JSON-RPC, HTTP+JSON, gRPC and inside the process', () => {
  it.each(OPERATION_CASES.map((one) => [one.title, one] as const))('%s', (_title, one) => compare(one, ways));
});

describe('X5 refused alike by JSON-RPC, HTTP+JSON and gRPC', () => {
  it.each(BINDING_CASES.map((one) => [one.title, one] as const))('%s', (_title, one) =>
    compare(
      one,
      ways.filter(({ name }) => name !== 'in-process'),
    ),
  );
});
