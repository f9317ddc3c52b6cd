import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { createFsTools } from '../../../../src/capabilities/workspace/fs/index.js';
import { callerOf } from '../../../support/tool-call.js';
import { onStage, type Stage } from './setup.js';
import { sharedDisk } from '../../../disk/disk.js';

const run = promisify(execFile);

/** One call of each tool on a path. */
const CALLS: readonly (readonly [string, (path: string) => object])[] = [
  ['fs_read', (path) => ({ path })],
  ['fs_list', (path) => ({ path })],
  ['fs_list', (path) => ({ path, itself: true })],
  ['fs_write', (path) => ({ path, content: 'x', mode: 'append' })],
  ['fs_search', (path) => ({ path, pattern: 'secret' })],
  ['fs_write', (path) => ({ path, content: 'x' })],
  ['fs_edit', (path) => ({ path, oldText: 'secret', newText: 'x' })],
  ['fs_move', (path) => ({ from: path, to: 'taken' })],
  ['fs_move', (path) => ({ from: 'own', to: path })],
  ['fs_write', (path) => ({ path, mode: 'folder' })],
  ['fs_delete', (path) => ({ path, recursive: true })],
];

async function fill({ root, outside }: Stage): Promise<void> {
  await writeFile(join(root, 'own'), 'own');
  await writeFile(join(outside, 'file'), 'secret');
  await mkdir(join(outside, 'folder'));
  await writeFile(join(outside, 'folder', 'only'), 'secret');
}

async function assertUntouched({ root, outside }: Stage): Promise<void> {
  expect(await readFile(join(root, 'own'), 'utf8')).toBe('own');
  expect((await readdir(outside, { recursive: true })).sort()).toEqual(['file', 'folder', 'folder/only']);
  for (const path of ['file', 'folder/only']) {
    expect(await readFile(join(outside, path), 'utf8')).toBe('secret');
  }
}

describe('the border of the workspace', () => {
  it.each(CALLS)('%s refuses paths that lead out, whether a file exists there or not', (name, input) =>
    onStage(async (stage) => {
      await fill(stage);
      const { outside, root, call } = stage;
      const sibling = `../${outside.split('/').at(-1)}`;
      const paths = [
        '..',
        '../missing',
        `${sibling}/file`,
        `${outside}/file`,
        `${outside}/missing`,
        '/',
        '/etc/passwd',
      ];
      for (const path of [...paths, `a/../${sibling}/folder`, `${root}x`, '/proc/self/environ']) {
        const refused = expect(call(name, input(path))).rejects;
        await refused.toMatchObject({ code: 'forbidden' });
      }
      await assertUntouched(stage);
    }),
  );

  it.each(CALLS)('%s does not follow links out', (name, input) =>
    onStage(async (stage) => {
      await fill(stage);
      const { outside, root, call } = stage;
      await symlink(outside, join(root, 'absolute'));
      await symlink(`../${outside.split('/').at(-1)}`, join(root, 'relative'));
      await symlink('relative', join(root, 'twice'));
      await symlink(join(outside, 'nothing'), join(root, 'dangling'));
      for (const link of ['absolute', 'relative', 'twice']) {
        for (const path of [`${link}/file`, `${link}/folder/only`, `${link}/missing`]) {
          await expect(call(name, input(path))).rejects.toMatchObject({ code: 'forbidden' });
        }
      }
      if (!['fs_move', 'fs_delete'].includes(name)) {
        for (const path of ['absolute', 'dangling']) {
          await expect(call(name, input(path))).rejects.toMatchObject({ code: 'forbidden' });
        }
      }
      await assertUntouched(stage);
      await expect(stat(join(outside, 'nothing'))).rejects.toThrow('ENOENT');
    }),
  );

  it('moves and deletes a link itself, and searches and lists past it', () =>
    onStage(async (stage) => {
      await fill(stage);
      const { outside, root, ask, call } = stage;
      await symlink(outside, join(root, 'link'));
      expect(await ask('fs_list', { recursive: true })).toBe(
        `link (a symbolic link to ${outside})\nown (3 bytes)\n[1 symbolic link, 1 file]`,
      );
      expect(await ask('fs_search', { pattern: 'secret' })).toBe('No match for "secret" in 1 file.');
      await call('fs_move', { from: 'link', to: 'sub/link' });
      await call('fs_delete', { path: 'sub', recursive: true });
      expect(await readdir(root)).toEqual(['own']);
      await assertUntouched(stage);
    }));

  it('follows links that stay inside', () =>
    onStage(async ({ root, ask, call }) => {
      await mkdir(join(root, 'a/b'), { recursive: true });
      await writeFile(join(root, 'a/b/file'), 'text\n');
      await symlink('a/b', join(root, 'short'));
      await symlink(join(root, 'short/file'), join(root, 'file'));
      await symlink('../../a', join(root, 'a/b/up'));
      expect(await ask('fs_read', { path: 'short/up/b/file' })).toBe('text\n');
      expect(await call('fs_write', { path: 'file', content: 'new\n' })).toEqual({
        content: 'wrote 4 bytes to a/b/file',
      });
      expect(await ask('fs_read', { path: `${root}/short/file` })).toBe('new\n');
      await symlink('loop', join(root, 'loop'));
      await expect(ask('fs_read', { path: 'loop' })).rejects.toThrow('form a loop');
      await symlink('a/b/made-by-link', join(root, 'new'));
      await call('fs_write', { path: 'new', content: 'x' });
      expect(await readFile(join(root, 'a/b/made-by-link'), 'utf8')).toBe('x');
    }));

  it('holds while another process swaps folders for links', () =>
    onStage(async (stage) => {
      await fill(stage);
      const { outside, root, call } = stage;
      await mkdir(join(root, 'folder'));
      await writeFile(join(root, 'folder/file'), 'own');
      let isOver = false;
      const swap = (async () => {
        while (!isOver) {
          await rename(join(root, 'folder'), join(root, 'aside'));
          await symlink(join(outside, 'folder'), join(root, 'folder'));
          await rm(join(root, 'folder'));
          await rename(join(root, 'aside'), join(root, 'folder'));
          // Rests of several lengths: in step with the calls, each of them would meet the same moment.
          for (let rest = Math.random() * 8; rest > 1; rest -= 1) await setImmediate();
        }
      })();
      const seen = new Set<unknown>();
      const steal = async (name: string, input: object) => seen.add((await call(name, input)).content);
      for (let round = 0; round < 300 || seen.size === 0; round += 1) {
        await Promise.allSettled([
          steal('fs_read', { path: 'folder/file' }),
          steal('fs_read', { path: 'folder/only' }),
          steal('fs_edit', { path: 'folder/only', oldText: 'secret', newText: 'x' }),
          steal('fs_move', { from: 'folder/only', to: 'stolen' }),
          steal('fs_delete', { path: 'folder/only' }),
        ]);
      }
      isOver = true;
      await swap;
      expect(seen).toEqual(new Set(['own']));
      await assertUntouched(stage);
    }));

  it('refuses FIFOs, sockets and devices without waiting for them', () =>
    onStage(async ({ root, ask }) => {
      await run('mkfifo', [join(root, 'fifo')]);
      const server = createServer().listen(join(root, 'socket'));
      await new Promise((done) => server.once('listening', done));
      for (const [path, what] of [
        ['fifo', 'a FIFO'],
        ['socket', 'a socket'],
      ]) {
        for (const [name, input] of [
          ['fs_read', { path }],
          ['fs_write', { path, content: 'x' }],
          ['fs_edit', { path, oldText: 'a', newText: 'b' }],
        ] as const) {
          await expect(ask(name, input)).rejects.toThrow(`"${path}" is ${what}; only regular files`);
        }
        expect(await ask('fs_list', { path })).toMatchObject({ type: what!.slice(2) });
      }
      expect(await ask('fs_search', { pattern: 'fifo' })).toContain('fifo (name)');
      server.close();
    }));

  it('never moves or deletes a root', () =>
    onStage(async ({ root, call }) => {
      await mkdir(join(root, 'inner/deep'), { recursive: true });
      const both = callerOf(
        createFsTools({
          ...sharedDisk(root, join(root, 'inner/deep')),
          maxReadBytes: 1000,
          maxWriteBytes: 5000,
        }),
      );
      for (const path of ['.', root, 'inner/..', `${root}/`]) {
        await expect(call('fs_delete', { path, recursive: true })).rejects.toThrow('the workspace itself');
        await expect(call('fs_move', { from: path, to: 'x' })).rejects.toThrow('the workspace itself');
        await expect(call('fs_write', { path, content: 'x' })).rejects.toThrow('the workspace itself');
      }
      await expect(both('fs_delete', { path: 'inner', recursive: true })).rejects.toThrow(
        'contains the workspace',
      );
      await expect(both('fs_move', { from: 'inner', to: 'x' })).rejects.toThrow('contains the workspace');
      expect(await readdir(join(root, 'inner'))).toEqual(['deep']);
    }));

  it('covers several roots; paths in a further one are absolute', () =>
    onStage(async ({ root, outside }) => {
      const call = callerOf(
        createFsTools({ ...sharedDisk(root, outside), maxReadBytes: 1000, maxWriteBytes: 5000 }),
      );
      const path = join(outside, 'a.txt');
      expect((await call('fs_write', { path, content: 'x' })).content).toBe(`wrote 1 byte to ${path}`);
      expect((await call('fs_move', { from: path, to: 'b.txt' })).content).toBe(`moved ${path} to b.txt`);
      expect(
        (
          await call('fs_read', {
            path: `../${outside.split('/').at(-1)}/../${root.split('/').at(-1)}/b.txt`,
          })
        ).content,
      ).toBe('x');
    }));

  it('reports a missing workspace without a path of the machine', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'lango-gone-'));
    await rm(folder, { recursive: true });
    const call = callerOf(createFsTools({ ...sharedDisk(folder), maxReadBytes: 1000, maxWriteBytes: 5000 }));
    await expect(call('fs_list', {})).rejects.toMatchObject({
      code: 'unavailable',
      message: 'The workspace folder is missing.',
    });
  });
});

describe('a file that a root server creates', () => {
  it('belongs to the owner of the folder, which sandboxed commands run as', () =>
    onStage(async ({ root, call }) => {
      if (process.getuid!() !== 0) return;
      await run('chown', ['65534:65534', root]);
      await call('fs_write', { path: 'a/b/c.txt', content: 'x' });
      await call('fs_write', { path: 'a/d', mode: 'folder' });
      for (const path of ['a', 'a/b', 'a/b/c.txt', 'a/d']) {
        expect((await stat(join(root, path))).uid).toBe(65534);
      }
      await run('chown', ['1234:1234', join(root, 'a/b/c.txt')]);
      await call('fs_write', { path: 'a/b/c.txt', content: 'y' });
      expect((await stat(join(root, 'a/b/c.txt'))).uid).toBe(1234);
    }));
});
