/**
 * A capability of your own: bookmarks, which agents save and people list. It has a setting, a table, a tool, an operation of
 * owners, and a command. Run it: `npx node dist/examples/capability.js`. As a package that `capabilities` of the
 * configuration names, it adds `lango bookmarks list` too.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  connect,
  createServer,
  defineCapability,
  defineTool,
  fields,
  LangoError,
  sql,
  textPart,
} from 'lango';
import { z } from 'zod';

interface Bookmark {
  readonly url: string;
  readonly title: string;
}

const COLUMNS = 'owner TEXT NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL, PRIMARY KEY (owner, url)';

const operations = {
  listBookmarks: {
    method: 'get',
    path: '/lango/bookmarks',
    input: z.object({}),
    result: z.object({ bookmarks: z.array(z.object({ url: z.string(), title: z.string() })) }),
  },
} as const;

export const capability = defineCapability({
  name: 'bookmarks',
  settings: {
    bookmarks: fields.group('Bookmarks.', { most: fields.count(100, 'The most bookmarks of one owner.') }),
  },
  tables: {
    sqlite: [`CREATE TABLE bookmarks_saved (${COLUMNS}) STRICT`],
    postgres: [`CREATE TABLE bookmarks_saved (${COLUMNS})`],
  },
  operations,
  assigns: () => [{ prefix: 'bookmark_', agent: 'operator', path: [] }],
  sentences: [['bookmark {url} as {title...}', 'bookmark_save']],
  commands: [
    {
      usage: 'bookmarks list',
      description: 'list your bookmarks',
      works: 'owner',
      async run(call) {
        const { bookmarks } = await call.withOwner(operations, (owner) => owner.listBookmarks({}));
        return { json: { bookmarks }, lines: bookmarks.map(({ url, title }) => `${title}  ${url}`) };
      },
    },
  ],
  open({ settings, database }) {
    const list = (owner: string) =>
      database.read(() => sql.all<Bookmark>('SELECT url, title FROM bookmarks_saved WHERE owner = ?', owner));
    const save = defineTool({
      name: 'bookmark_save',
      description: 'Saves a bookmark for the person.',
      schema: z.strictObject({ url: z.url().max(2_000), title: z.string().min(1).max(200) }),
      effect: 'keyed', // The same call again, after a crash, changes nothing.
      danger: 'safe',
      async execute({ url, title }, { owner }) {
        if ((await list(owner)).length >= settings.bookmarks.most)
          throw new LangoError('too-many', 'There are too many bookmarks.', { hint: 'See bookmarks.most.' });
        await database.write(owner, () =>
          sql.run(
            `INSERT INTO bookmarks_saved (owner, url, title) VALUES (?, ?, ?)
              ON CONFLICT (owner, url) DO UPDATE SET title = excluded.title`,
            ...[owner, url, title],
          ),
        );
        return { content: `Saved ${title}.` };
      },
    });
    return {
      families: () => [{ name: 'bookmarks', state: 'on', tools: [save] }],
      operations: {
        listBookmarks: async (_input, { scope }) => ({ bookmarks: [...(await list(scope.owner))] }),
      },
      ownedData: {
        kinds: {
          bookmarks: { list: async ({ owner }) => ({ items: await list(owner), next: undefined }) },
        },
        removeAll: async ({ owner }) => ({
          bookmarks: await database.write(owner, () =>
            sql.run('DELETE FROM bookmarks_saved WHERE owner = ?', owner),
          ),
        }),
      },
    };
  },
});

/** Starts a server with the capability, and asks its agents for a bookmark. */
export async function main(): Promise<void> {
  const home = await mkdtemp(path.join(tmpdir(), 'lango-example-'));
  const server = createServer({ home, settings: { server: { port: 0 } }, capabilities: [capability] });
  const { origin, token } = await server.start();
  const client = connect({ url: origin, ...(token !== undefined && { token }) });
  const request = { parts: [textPart('bookmark https://lango.example as the home of Lango')] };
  for await (const event of client.send(request, AbortSignal.timeout(60_000)))
    if (event.type === 'end') console.log(event.text);
  await server.stop();
  await rm(home, { recursive: true });
}

if (import.meta.main) await main();
