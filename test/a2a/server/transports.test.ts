import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fromWireError } from '../../../src/a2a/translate/errors.js';
import type { OperationCase } from '../../suites/a2a-operations.js';
import { BINDING_CASES, OPERATION_CASES } from '../../suites/a2a-operations.js';
import { PUSH_BINDING_CASES, PUSH_CASES } from '../../suites/a2a-push-operations.js';
import type { A2aNode } from '../../support/a2a-node.js';
import { startA2aNode } from '../../support/a2a-node.js';
import type { Way } from '../../support/a2a-transports.js';
import { waysTo } from '../../support/a2a-transports.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

/** A node, and the transports to one of its agents. */
interface Place {
  readonly node: A2aNode;
  readonly ways: readonly Way[];
}

let plain: Place;
let pushing: Place;

beforeAll(async () => {
  [plain, pushing] = [await open(false), await open(true)];
});

afterAll(() => Promise.all([plain.node.stop(), pushing.node.stop()]));

async function open(push: boolean): Promise<Place> {
  const agents = [scriptedAgent('root'), scriptedAgent('operator')];
  const node = await startA2aNode({ agents, grpc: true, push });
  return { node, ways: await waysTo(node, 'operator') };
}

/** Replaces ids, times and other random values by names: the first id is id1 wherever it occurs. */
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

async function outcome(one: OperationCase, way: Way, node: A2aNode): Promise<unknown> {
  try {
    return { result: withoutChance(await one.ask(way, node)) };
  } catch (error) {
    const { code, message } = fromWireError(error);
    return { error: code, message: withoutChance(message) };
  }
}

async function compare(one: OperationCase, { ways, node }: Place): Promise<void> {
  const [first, ...others] = ways.filter(({ name }) => name !== one.except);
  const expected = await outcome(one, first!, node);
  if (one.error === undefined) expect(expected).toHaveProperty('result');
  else expect(expected).toMatchObject({ error: one.error });
  if (one.expected !== undefined) expect(expected).toMatchObject({ result: one.expected });
  for (const way of others)
    expect({ way: way.name, ...((await outcome(one, way, node)) as object) }).toEqual({
      way: way.name,
      ...(expected as object),
    });
}

function titled(cases: readonly OperationCase[]) {
  return cases.map((one) => [one.title, one] as const);
}

function remote({ node, ways }: Place): Place {
  return { node, ways: ways.filter(({ name }) => name !== 'in-process') };
}

describe('X5 an operation over JSON-RPC, HTTP+JSON, gRPC and inside the process', () => {
  it.each(titled(OPERATION_CASES))('gives the same on each way: %s', (_title, one) => compare(one, plain));
  it.each(titled(PUSH_CASES))('gives the same on each way: %s', (_title, one) => compare(one, pushing));
});

describe('X5 an invalid operation over JSON-RPC, HTTP+JSON and gRPC', () => {
  it.each(titled(BINDING_CASES))('is refused alike: %s', (_title, one) => compare(one, remote(plain)));
  it.each(titled(PUSH_BINDING_CASES))('is refused alike: %s', (_title, one) => compare(one, remote(pushing)));
});
