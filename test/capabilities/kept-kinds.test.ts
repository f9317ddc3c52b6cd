import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { CAPABILITIES } from '../../src/capabilities/index.js';
import { keepingNodeFor } from '../../src/capabilities/open-capabilities.js';
import { schemasAt, SettingsSchema } from '../../src/config/schema.js';
import { defineCapability, defineTool } from '../../src/index.js';
import { freePort } from '../support/free-port.js';
import { sendText, startServer, type TestServer } from '../support/server.js';

/** Two servers with a capability from outside. The one keeps the notes of owners for the other. */

const operations = {
  readNote: {
    method: 'get',
    path: '/lango/notes',
    right: 'notes',
    input: z.object({}),
    result: z.object({ note: z.string() }),
  },
} as const;

const notes = (note: string) =>
  defineCapability({
    name: 'notes',
    operations,
    keeps: { notes: { what: 'the notes of owners', right: 'read notes' } },
    sentences: [['read the note', 'notes_read']],
    assigns: () => [{ prefix: 'notes_', agent: 'operator', path: [] }],
    open: ({ keepingNode }) => ({
      operations: { readNote: async (_input, { scope }) => ({ note: `${note} of ${scope.owner}` }) },
      families: () => [
        {
          name: 'notes',
          state: 'on',
          tools: [
            defineTool({
              name: 'notes_read',
              description: 'Reads the note.',
              schema: z.strictObject({}),
              effect: 'pure',
              danger: 'safe',
              async execute(_input, { tenant, owner }) {
                const client = await keepingNode('notes')?.clientFor(operations, { tenant, owner });
                return { content: client ? (await client.readNote({})).note : note };
              },
            }),
          ],
        },
      ],
    }),
  });

let keeper: TestServer;
let worker: TestServer;

beforeAll(async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const workerPort = await freePort();
  keeper = await startServer({
    capabilities: [notes('the kept note')],
    settings: {
      server: { port },
      a2a: { baseUrl: url },
      auth: {
        nodes: [
          {
            name: 'worker',
            jwks: `http://127.0.0.1:${workerPort}/.well-known/jwks.json`,
            may: ['notes'],
          },
        ],
      },
    },
  });
  worker = await startServer({
    capabilities: [notes('the own note')],
    settings: {
      server: { port: workerPort },
      a2a: { keptAt: { notes: { url, allowPrivate: true } } },
    },
  });
});
afterAll(async () => {
  await worker.stop();
  await keeper.stop();
});

async function readNote(server: TestServer): Promise<string> {
  const { end } = await sendText(server, 'read the note');
  return end.text;
}

describe('a kind of data that a capability keeps', () => {
  it('is a key of a2a.keptAt, by which a server reads the data of another for the owner', async () => {
    expect(await readNote(keeper)).toContain('the kept note');
    expect(await readNote(worker)).toContain('the kept note of default');
  });

  it('is a right of auth.nodes, without which no caller gets the data', async () => {
    const response = await keeper.fetch('/lango/notes');
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('may: [notes]');
  });

  it('is asked for by its own capability only', () => {
    const findNode = keepingNodeFor(notes(''), () => undefined);
    expect(findNode('notes')).toBeUndefined();
    expect(() => findNode('secrets')).toThrow('The capability notes keeps no data of the kind secrets.');
  });

  it('has no key and no right on a server without the capability', () => {
    const place = ['auth', 'nodes', 0, 'may', 0];
    const rightsOf = (schema: SettingsSchema) =>
      schemasAt(place, schema.json).flatMap((one) => one.enum ?? []);
    const bare = new SettingsSchema([]);
    expect(schemasAt(['a2a', 'keptAt', 'secrets'], bare.json)).toEqual([]);
    expect(rightsOf(bare)).toEqual(['act', 'operate']);
    expect(rightsOf(new SettingsSchema(CAPABILITIES))).toEqual(['act', 'operate', 'secrets', 'skills']);
  });

  it('has one name: a second capability with it is refused', () => {
    const given = { what: 'x', right: 'x' };
    const [skills] = CAPABILITIES.filter(({ name }) => name === 'skills');
    const twin = defineCapability({ name: 'twin', keeps: { skills: given }, open: () => ({}) });
    expect(() => new SettingsSchema([skills!, twin])).toThrow(
      'Two capabilities keep data of the kind skills.',
    );
    const every = defineCapability({ name: 'act', keeps: { act: given }, open: () => ({}) });
    expect(() => new SettingsSchema([every])).toThrow('kind act');
  });
});
