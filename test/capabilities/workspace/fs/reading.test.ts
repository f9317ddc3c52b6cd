import { open, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { onStage } from './setup.js';

describe('fs_read', () => {
  it('returns a text unchanged', () =>
    onStage(async ({ root, ask }) => {
      for (const text of ['one line', 'a\nb\n', 'a\r\nb\r\n', '\n\n', 'äöü 日本 🎉\n', '\uFEFFbom']) {
        await writeFile(join(root, 'f'), text);
        expect(await ask('fs_read', { path: 'f' })).toBe(text);
      }
      await writeFile(join(root, 'f'), '');
      expect(await ask('fs_read', { path: 'f' })).toBe('f is empty.');
    }));

  it('pages by lines, and names the next page', () =>
    onStage(async ({ root, ask }) => {
      await writeFile(join(root, 'f'), '1\n2\n3\n4\n5\n');
      expect(await ask('fs_read', { path: 'f', limit: 2 })).toBe('1\n2\n[lines 1-2; continue with offset 3]');
      expect(await ask('fs_read', { path: 'f', offset: 3, limit: 2 })).toBe(
        '3\n4\n[lines 3-4; continue with offset 5]',
      );
      expect(await ask('fs_read', { path: 'f', offset: 4 })).toBe('4\n5\n');
      expect(await ask('fs_read', { path: 'f', offset: 4, limit: 2 })).toBe('4\n5\n');
      await expect(ask('fs_read', { path: 'f', offset: 6 })).rejects.toThrow(
        'offset: 6 is past the end; f has 5 lines.',
      );
    }));

  it('ends a page before a line that does not fit whole', () =>
    onStage(async ({ root, ask }) => {
      const line = 'x'.repeat(400);
      await writeFile(join(root, 'f'), `${line}\n${line}\n${line}\nend`);
      expect(await ask('fs_read', { path: 'f' })).toBe(
        `${line}\n${line}\n[lines 1-2; continue with offset 3]`,
      );
      expect(await ask('fs_read', { path: 'f', offset: 3 })).toBe(`${line}\nend`);
    }));

  it('pages through any text without loss', () =>
    onStage(
      async ({ root, ask }) => {
        const line = fc
          .string({ unit: 'grapheme', maxLength: 300 })
          .map((text) => text.replace(/[\0\n[]/g, '.'));
        await fc.assert(
          fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 20 }), async (lines) => {
            const text = `${lines.join('\n')}\nend`;
            await writeFile(join(root, 'f'), text);
            let read = '';
            for (let offset: number | undefined = 1; offset !== undefined;) {
              const page = (await ask('fs_read', { path: 'f', offset, limit: 7 })) as string;
              const mark = /\n\[.*continue with offset (\d+)\]$/.exec(page);
              read += mark === null ? page : `${page.slice(0, mark.index)}\n`;
              offset = mark === null ? undefined : Number(mark[1]);
            }
            expect(read).toBe(text);
          }),
          { numRuns: 30 },
        );
      },
      { maxReadBytes: 4000 },
    ));

  it('cuts a line that is longer than a page, and goes on after it', () =>
    onStage(async ({ root, ask }) => {
      await writeFile(join(root, 'f'), `${'x'.repeat(200_000)}\nnext\n`);
      const page = (await ask('fs_read', { path: 'f' })) as string;
      expect(page).toBe(
        `${'x'.repeat(1000)}\n[line 1 is longer than a page and is cut here; lines 1-1; continue with offset 2]`,
      );
      expect(await ask('fs_read', { path: 'f', offset: 2 })).toBe('next\n');
    }));

  it('reads the end of a huge file in bounded memory', () =>
    onStage(async ({ root, ask }) => {
      const file = await open(join(root, 'huge'), 'w');
      const block = Buffer.from(`${'y'.repeat(99)}\n`.repeat(10_000));
      for (let round = 0; round < 100; round += 1) await file.write(block);
      await file.write('the end\n');
      await file.close();
      const before = process.memoryUsage().rss;
      expect(await ask('fs_read', { path: 'huge', offset: 1_000_001 })).toBe('the end\n');
      expect(process.memoryUsage().rss - before).toBeLessThan(60 * 1024 * 1024);
    }));

  it('reports type and size of a binary file', () =>
    onStage(async ({ root, ask }) => {
      const png = Buffer.from('89504e470d0a1a0a0000000d', 'hex');
      await writeFile(join(root, 'p.png'), png);
      expect(await ask('fs_read', { path: 'p.png' })).toBe(
        'p.png is a binary file, a PNG image, 12 bytes; fs_read shows text only.',
      );
      await writeFile(join(root, 'b'), Buffer.from([1, 2, 0, 3]));
      expect(await ask('fs_read', { path: 'b' })).toContain('of unknown type, 4 bytes');
      await writeFile(join(root, 't'), 'MZ is how a text may begin, too');
      expect(await ask('fs_read', { path: 't' })).toBe('MZ is how a text may begin, too');
      await writeFile(join(root, 'l'), Buffer.from('caf\xe9\n', 'latin1'));
      expect(await ask('fs_read', { path: 'l' })).toContain('caf\uFFFD\n[not all of it is UTF-8');
    }));

  it('reports what is wrong with a path', () =>
    onStage(async ({ root, ask }) => {
      await mkdir(join(root, 'd'));
      await writeFile(join(root, 'f'), '');
      await expect(ask('fs_read', { path: 'no/such' })).rejects.toThrow(
        'path: "no/such" does not exist; call fs_list',
      );
      await expect(ask('fs_read', { path: 'd' })).rejects.toThrow('path: "d" is a folder; use fs_list');
      await expect(ask('fs_read', { path: 'f/x' })).rejects.toThrow('path: "f/x": "f" is not a folder');
      await expect(ask('fs_read', { path: 'x'.repeat(300) })).rejects.toThrow('the name is too long');
      await expect(ask('fs_read', { path: 'a\0b' })).rejects.toThrow('NUL');
      await expect(ask('fs_read', { path: 'f', more: 1 })).rejects.toThrow();
    }));
});

describe('fs_list', () => {
  it('lists by name, with sizes and folders marked', () =>
    onStage(async ({ root, ask }) => {
      expect(await ask('fs_list', {})).toBe('The workspace is empty.');
      await mkdir(join(root, 'b/c'), { recursive: true });
      await mkdir(join(root, 'node_modules/x'), { recursive: true });
      await writeFile(join(root, 'a.txt'), 'hello');
      await writeFile(join(root, 'b/d'), 'x');
      await symlink('a.txt', join(root, 'z'));
      expect(await ask('fs_list', {})).toBe(
        'a.txt (5 bytes)\nb/\nnode_modules/\nz (a symbolic link to a.txt)\n[1 file, 2 folders, 1 symbolic link]',
      );
      expect(await ask('fs_list', { path: 'b' })).toBe('b/c/\nb/d (1 byte)\n[1 folder, 1 file]');
      expect(await ask('fs_list', { recursive: true })).toBe(
        'a.txt (5 bytes)\nb/\nb/c/\nb/d (1 byte)\nnode_modules/ (not listed)\nz (a symbolic link to a.txt)\n[2 files, 3 folders, 1 symbolic link]',
      );
      expect(await ask('fs_list', { limit: 1 })).toBe(
        'a.txt (5 bytes)\n[the first 1 entries; there are more: list a subfolder, or raise limit]',
      );
      expect(await ask('fs_list', { path: 'b/c' })).toBe('b/c is empty.');
    }));

  it('reports what is at a path', () =>
    onStage(async ({ root, ask }) => {
      await writeFile(join(root, 'a.txt'), 'hello', { mode: 0o640 });
      const { modified, ...rest } = (await ask('fs_list', { path: 'a.txt' })) as Record<string, unknown>;
      expect(modified).toMatch(/^\d{4}-.*Z$/);
      expect(rest).toEqual({
        path: 'a.txt',
        type: 'file',
        bytes: 5,
        mode: '0640',
      });
      expect(await ask('fs_list', { path: '.', itself: true })).toMatchObject({ path: '.', type: 'folder' });
    }));

  it('leaves no descriptor open', () =>
    onStage(async ({ root, ask }) => {
      for (let folder = 0; folder < 30; folder += 1)
        await mkdir(join(root, `${folder}/x/y`), { recursive: true });
      const { readdir } = await import('node:fs/promises');
      const opened = async () => (await readdir('/proc/self/fd')).length;
      await ask('fs_list', { recursive: true });
      const before = await opened();
      for (let round = 0; round < 20; round += 1) {
        await ask('fs_list', { recursive: true, limit: 5 });
        await ask('fs_search', { pattern: 'x', limit: 2 });
        await ask('fs_read', { path: 'missing' }).catch(() => undefined);
      }
      expect(await opened()).toBeLessThan(before + 10);
    }));
});
