import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { LangoError } from '../../src/core/errors.js';
import type { OperationClient, OperationHandlers } from '../../src/core/operation.js';
import { SERVER_OPERATIONS, type ServerOperations } from '../../src/owners/operations.js';
import { withNodes } from '../../src/owners/other-nodes.js';

const context = { scope: { tenant: '', owner: 'default' }, signal: new AbortController().signal };

async function refused(): Promise<never> {
  throw new LangoError('not-found', 'There is no such kind of data here.');
}

async function down(): Promise<never> {
  throw new LangoError('unavailable', 'It cannot be reached.');
}

/** A node that has no data, and other nodes that respond after a while. */
function serviceWith(
  client: Partial<OperationClient<ServerOperations>>,
): OperationHandlers<ServerOperations> {
  const local = {
    listDataKinds: async () => {
      await sleep(20);
      return { kinds: [] };
    },
    ...{ readData: refused, forgetData: refused, deleteData: async () => ({ deleted: {} }) },
  };
  const nodes = [0, 1].map((index) => ({
    ...{ agent: `node-${index}`, url: `http://node-${index}:4100` },
    clientFor: async () => client as never,
  }));
  const service = { table: SERVER_OPERATIONS, handlers: local as never, bodyBytes: () => 0 };
  return withNodes(service, {
    ...{ hasTool: () => true, isPlaced: () => false, keepingNode: () => undefined },
    nodes: () => nodes,
    told: () => [],
  }).handlers as never;
}

describe('data of all nodes', () => {
  // A promise that fails before anybody waits for it ends the process.
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on('unhandledRejection', note);
  afterEach(() => expect(unhandled.splice(0)).toEqual([]));

  it('is read from the nodes that have its kind, one after the other', async () => {
    const has = {
      listDataKinds: async () => {
        await sleep(20);
        return { kinds: ['files'] };
      },
      readData: async () => ({ items: ['a'] }),
    };
    const service = serviceWith(has);
    const first = await service.readData({ kind: 'files', after: '' }, context);
    expect(first).toEqual({ items: [], next: '@node-0 ' });
    const second = await service.readData({ kind: 'files', after: '@node-0 ' }, context);
    expect(second).toEqual({ items: ['a'], next: '@node-1 ' });
    const last = await service.readData({ kind: 'files', after: '@node-1 ' }, context);
    expect(last).toEqual({ items: ['a'], next: undefined });
    await expect(service.readData({ kind: 'other', after: '' }, context)).rejects.toThrow('no such kind');
    await expect(service.readData({ kind: 'files', after: '@gone ' }, context)).rejects.toThrow(
      'no remote agent',
    );
  });

  it('ends with an error when a node sends pages without an end, empty or large', async () => {
    let pages = 0;
    let items: unknown[] = [];
    const service = serviceWith({ readData: async () => ({ items, next: `cursor ${(pages += 1)}` }) });
    const readOn = async (after: string | undefined) => {
      while (after !== undefined && pages < 20_000)
        after = (await service.readData({ kind: 'files', after }, context)).next;
    };
    await expect(readOn('@node-0 ')).rejects.toMatchObject({ code: 'too-large' });
    items = ['x'.repeat(600_000)];
    pages = 0;
    await expect(readOn(`@node-0 ${1024 ** 3 - 1_000_000} cursor 0`)).rejects.toMatchObject({
      code: 'too-large',
    });
    expect(pages).toBe(2);
  });

  it('has no kinds of other nodes beyond a number, and none whose name is no word', async () => {
    const many = Array.from({ length: 1_000 }, (__, index) => `kind${index}`);
    const service = serviceWith({ listDataKinds: async () => ({ kinds: ['../tasks', 'a\nb', ...many] }) });
    const { kinds } = await service.listDataKinds({}, context);
    expect(kinds).toEqual(many.slice(0, 100));
  });

  it('is unavailable while a node is away', async () => {
    const service = serviceWith({ listDataKinds: down, readData: down, forgetData: down, deleteData: down });
    const calls = [
      () => service.listDataKinds({}, context),
      () => service.readData({ kind: 'files', after: '' }, context),
      () => service.forgetData({ kind: 'files', name: 'a' }, context),
      () => service.deleteData({}, context),
    ];
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('The node of node-0 at http://node-0:4100'),
      });
    }
  });
});
