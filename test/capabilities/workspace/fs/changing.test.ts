import { chmod, mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { LangoError } from '../../../../src/core/errors.js';
import { argumentsIn } from '../../../support/offline-rows.js';
import { createFsTools, UnfinishedWrites } from '../../../../src/capabilities/workspace/fs/index.js';
import { toolContext, toolNamed } from '../../../support/tool-call.js';
import { onStage } from './setup.js';
import { sharedDisk } from '../../../disk/disk.js';

describe('fs_write', () => {
  it('creates files with their folders, and replaces content while keeping the mode', () =>
    onStage(async ({ root, ask }) => {
      expect(await ask('fs_write', { path: 'notes.txt', content: 'hello world' })).toBe(
        'wrote 11 bytes to notes.txt',
      );
      expect(await ask('fs_write', { path: 'a/b/é.txt', content: 'é' })).toBe('wrote 2 bytes to a/b/é.txt');
      await chmod(join(root, 'notes.txt'), 0o4751);
      await ask('fs_write', { path: 'notes.txt', content: '' });
      expect(await readFile(join(root, 'notes.txt'), 'utf8')).toBe('');
      // Other content does not run with the rights of the file's owner.
      expect((await stat(join(root, 'notes.txt'))).mode & 0o7777).toBe(0o751);
      expect((await readdir(root)).sort()).toEqual(['a', 'notes.txt']);
    }));

  it('gives a reader the old file or the new one, never a part', () =>
    onStage(async ({ root, ask }) => {
      const path = join(root, 'f');
      const contents = ['a'.repeat(4000), 'b'.repeat(4000)];
      await writeFile(path, contents[0]!);
      let isOver = false;
      const reader = (async () => {
        const seen = new Set<string>();
        while (!isOver) seen.add(await readFile(path, 'utf8'));
        return seen;
      })();
      for (let round = 0; round < 50; round += 1)
        await ask('fs_write', { path: 'f', content: contents[round % 2] });
      isOver = true;
      for (const seen of await reader) expect(contents).toContain(seen);
    }));

  it('leaves the old file on failure, and nothing else', () =>
    onStage(async ({ root, ask, call }) => {
      await writeFile(join(root, 'f'), 'old');
      await mkdir(join(root, 'd'));
      await expect(ask('fs_write', { path: 'f', content: 'x'.repeat(5001) })).rejects.toThrow(
        'content: the file would have 5001 bytes; at most 5000 are allowed.',
      );
      await expect(ask('fs_write', { path: 'd', content: 'x' })).rejects.toThrow('is a folder');
      await expect(ask('fs_write', { path: 'f/x', content: 'x' })).rejects.toThrow('not a folder');
      const signal = AbortSignal.abort(new LangoError('canceled', 'enough'));
      await expect(call('fs_write', { path: 'f', content: 'x' }, { signal })).rejects.toThrow('enough');
      expect(await readFile(join(root, 'f'), 'utf8')).toBe('old');
      expect((await readdir(root)).sort()).toEqual(['d', 'f']);
    }));

  it('removes the temporary file of the same call after a crash', () =>
    onStage(async ({ root, call }) => {
      await writeFile(join(root, '.aaaaaaaaaaaaaaaa.lango-new'), 'half');
      await call('fs_write', { path: 'f', content: 'x' });
      expect(await readdir(root)).toEqual(['f']);
    }));

  it('records its temporary file, so that the next start removes it after a kill', () =>
    onStage(async ({ root }) => {
      const folder = join(root, '..', 'unfinished-writes');
      const unfinished = new UnfinishedWrites(folder);
      const [left, other] = [join(root, '.bbbb.lango-new'), join(root, 'other')];
      await writeFile(left, 'half');
      await writeFile(other, 'whole');
      await unfinished.record(left);
      await unfinished.record(other);
      const forget = await unfinished.record(join(root, 'gone'));
      await forget();
      expect(await readdir(folder)).toHaveLength(2);
      await new UnfinishedWrites(folder).removeLeft();
      expect(await readdir(root)).toEqual(['other']);
      expect(await readdir(folder)).toEqual([]);
      const [, , , write] = createFsTools({
        ...sharedDisk(root),
        maxReadBytes: 1000,
        maxWriteBytes: 5000,
        unfinished,
      });
      await write!.execute({ path: 'f', content: 'x' }, toolContext());
      expect(await readdir(folder)).toEqual([]);
    }));
});

describe('fs_write that appends', () => {
  it('adds a line at the end, and creates a missing file', () =>
    onStage(async ({ root, ask }) => {
      expect(await ask('fs_write', { path: 'a/f', content: 'one', mode: 'append' })).toBe(
        'added 3 bytes to a/f',
      );
      await ask('fs_write', { path: 'a/f', content: 'two\n', mode: 'append' });
      await ask('fs_write', { path: 'a/f', content: 'three', mode: 'append' });
      expect(await readFile(join(root, 'a/f'), 'utf8')).toBe('one\ntwo\nthree');
    }));

  it('leaves bytes that are no text unchanged, and the old file on failure', () =>
    onStage(async ({ root, ask }) => {
      await writeFile(join(root, 'f'), Buffer.of(0xff, 10));
      await ask('fs_write', { path: 'f', content: 'x', mode: 'append' });
      await expect(ask('fs_write', { path: 'f', content: 'x'.repeat(4998), mode: 'append' })).rejects.toThrow(
        'content: the file would have 5002 bytes; at most 5000 are allowed.',
      );
      await expect(ask('fs_write', { path: '.', content: 'x', mode: 'append' })).rejects.toThrow(
        'is the workspace itself',
      );
      expect(await readFile(join(root, 'f'))).toEqual(Buffer.of(0xff, 10, 0x78));
    }));
});

describe('fs_edit', () => {
  it('replaces the one occurrence', () =>
    onStage(async ({ root, ask }) => {
      await writeFile(join(root, 'f'), 'one two three');
      expect(await ask('fs_edit', { path: 'f', oldText: 'two', newText: '$& 2' })).toBe(
        'replaced 3 characters by 4 in f',
      );
      expect(await readFile(join(root, 'f'), 'utf8')).toBe('one $& 2 three');
    }));

  it('refuses with the count when the text is missing or occurs more than once', () =>
    onStage(async ({ root, ask }) => {
      await writeFile(join(root, 'f'), 'a b a b a');
      const edit = (oldText: string, newText = 'x') => ask('fs_edit', { path: 'f', oldText, newText });
      await expect(edit('c')).rejects.toThrow('oldText: it does not occur in f (found 0 times)');
      await expect(edit('a')).rejects.toThrow('oldText: it occurs 3 times in f');
      await expect(edit('b a b', 'b a b')).rejects.toThrow('the edit would change nothing');
      await expect(edit('b a b', 'x'.repeat(5000))).rejects.toThrow(
        'newText: the file would have 5004 bytes',
      );
      await expect(edit('')).rejects.toThrow();
      await expect(ask('fs_edit', { path: 'g', oldText: 'a', newText: 'b' })).rejects.toThrow(
        'does not exist',
      );
      await writeFile(join(root, 'big'), 'x'.repeat(5001));
      await expect(ask('fs_edit', { path: 'big', oldText: 'y', newText: '' })).rejects.toMatchObject({
        code: 'too-large',
      });
      await writeFile(join(root, 'bin'), Buffer.from([0xff, 0xfe]));
      await expect(ask('fs_edit', { path: 'bin', oldText: 'y', newText: '' })).rejects.toThrow('not UTF-8');
      expect(await readFile(join(root, 'f'), 'utf8')).toBe('a b a b a');
    }));

  it('reads line breaks as CRLF in a file of CRLF lines, and only there', () =>
    onStage(async ({ root, ask }) => {
      await writeFile(join(root, 'w'), '\uFEFFa\r\nb\r\nc\r\n');
      await ask('fs_edit', { path: 'w', oldText: 'a\nb', newText: 'x\ny' });
      await ask('fs_edit', { path: 'w', oldText: 'c', newText: 'c\nd' });
      expect(await readFile(join(root, 'w'), 'utf8')).toBe('\uFEFFx\r\ny\r\nc\r\nd\r\n');
      await writeFile(join(root, 'm'), 'a\r\nb\nc');
      await expect(ask('fs_edit', { path: 'm', oldText: 'a\nb', newText: 'x' })).rejects.toThrow(
        'found 0 times',
      );
    }));

  it('loses none of several concurrent edits', () =>
    onStage(async ({ root, ask }) => {
      const names = Array.from({ length: 20 }, (_, index) => `<${index}>`);
      await writeFile(join(root, 'f'), names.join(' '));
      await Promise.all(names.map((name) => ask('fs_edit', { path: 'f', oldText: name, newText: 'done' })));
      expect(await readFile(join(root, 'f'), 'utf8')).toBe(names.map(() => 'done').join(' '));
    }));

  it.each([
    { title: 'done', text: 'a new b', oldText: 'old', newText: 'new', is: 'settled' },
    { title: 'not done', text: 'a old b', oldText: 'old', newText: 'new', is: 'open' },
    {
      title: 'done, the new holding the old',
      text: 'a old more b',
      oldText: 'old',
      newText: 'old more',
      is: 'settled',
    },
    {
      title: 'not done, the new holding the old',
      text: 'a old b',
      oldText: 'old',
      newText: 'old more',
      is: 'open',
    },
    {
      title: 'not done, the old holding the new',
      text: 'a foobar b',
      oldText: 'foobar',
      newText: 'foo',
      is: 'open',
    },
    { title: 'done, something deleted', text: 'a  b', oldText: 'old', newText: '', is: 'settled' },
    { title: 'not done, something to delete', text: 'a old b', oldText: 'old', newText: '', is: 'open' },
    { title: 'changed by others', text: 'a b', oldText: 'old', newText: 'new', is: 'unknown' },
  ])('finds out its outcome after a crash: $title', ({ text, oldText, newText, is }) =>
    onStage(async ({ root, settle }) => {
      await writeFile(join(root, 'f'), text);
      const settled = settle('fs_edit', { path: 'f', oldText, newText });
      if (is === 'unknown') await expect(settled).rejects.toMatchObject({ code: 'outcome-unknown' });
      else expect((await settled) === undefined).toBe(is === 'open');
      expect(await readFile(join(root, 'f'), 'utf8')).toBe(text);
    }),
  );
});

describe('fs_move', () => {
  it('renames, moves into folders, and creates missing ones', () =>
    onStage(async ({ root, ask }) => {
      await writeFile(join(root, 'a'), '1');
      await mkdir(join(root, 'd/e'), { recursive: true });
      expect(await ask('fs_move', { from: 'a', to: 'b' })).toBe('moved a to b');
      expect(await ask('fs_move', { from: 'b', to: 'd' })).toBe('moved b to d/b');
      expect(await ask('fs_move', { from: 'd', to: 'x/y' })).toBe('moved d to x/y');
      expect(await readFile(join(root, 'x/y/b'), 'utf8')).toBe('1');
      expect(await ask('fs_move', { from: 'x/y/e', to: '.' })).toBe('moved x/y/e to e');
    }));

  it('replaces a file only on request, and a folder never', () =>
    onStage(async ({ root, ask }) => {
      await writeFile(join(root, 'a'), '1');
      await writeFile(join(root, 'b'), '2');
      await mkdir(join(root, 'd/b'), { recursive: true });
      await expect(ask('fs_move', { from: 'a', to: 'b' })).rejects.toThrow('to: "b" is already a file');
      await expect(ask('fs_move', { from: 'b', to: 'd', overwrite: true })).rejects.toThrow(
        '"d/b" is already a folder',
      );
      await expect(ask('fs_move', { from: 'd', to: 'd/b/d' })).rejects.toThrow('cannot be moved into itself');
      await expect(ask('fs_move', { from: 'a', to: 'a' })).rejects.toThrow('nothing to move');
      await expect(ask('fs_move', { from: 'c', to: 'e' })).rejects.toThrow('from: "c" does not exist');
      expect(await readFile(join(root, 'b'), 'utf8')).toBe('2');
      await ask('fs_move', { from: 'a', to: 'b', overwrite: true });
      expect(await readFile(join(root, 'b'), 'utf8')).toBe('1');
    }));

  it('lets one of two concurrent moves to the same name win', () =>
    onStage(async ({ root, ask }) => {
      await writeFile(join(root, 'a'), '1');
      await writeFile(join(root, 'b'), '2');
      const moves = await Promise.allSettled(['a', 'b'].map((from) => ask('fs_move', { from, to: 'c' })));
      expect(moves.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
      expect((await readdir(root)).sort()).toEqual(['b', 'c']);
    }));

  it('finds out its outcome after a crash', () =>
    onStage(async ({ root, settle }) => {
      await writeFile(join(root, 'a'), '1');
      expect(await settle('fs_move', { from: 'a', to: 'b' })).toBeUndefined();
      expect(await settle('fs_move', { from: 'old', to: 'a' })).toEqual({ content: 'moved old to a' });
      await expect(settle('fs_move', { from: 'x', to: 'y' })).rejects.toMatchObject({
        code: 'outcome-unknown',
      });
    }));
});

describe('fs_write of a folder', () => {
  it('needs no content, which a file needs', () =>
    onStage(async ({ root, ask }) => {
      for (const input of [{ path: 'a/f' }, { path: 'a/f', mode: 'append' }])
        await expect(ask('fs_write', input)).rejects.toThrow('content: replace and append require it');
      await expect(ask('fs_write', { path: 'a/f', content: 'x', mode: 'folder' })).rejects.toThrow(
        'folder does not take it',
      );
      expect(await readdir(root)).toEqual([]);
    }));

  it('creates folders, and accepts one that exists', () =>
    onStage(async ({ root, ask }) => {
      expect(await ask('fs_write', { path: 'a/b/c', mode: 'folder' })).toBe('created the folder a/b/c');
      expect(await ask('fs_write', { path: 'a/b', mode: 'folder' })).toBe('a/b already exists');
      await symlink('a', join(root, 'l'));
      expect(await ask('fs_write', { path: 'l/d', mode: 'folder' })).toBe('created the folder a/d');
      await writeFile(join(root, 'f'), '');
      await expect(ask('fs_write', { path: 'f', mode: 'folder' })).rejects.toThrow(
        'path: "f" is a file; choose another name',
      );
    }));
});

describe('fs_delete', () => {
  it('stops between two files when it is canceled', () =>
    onStage(async ({ root, call }) => {
      await mkdir(join(root, 'd'));
      for (const name of ['a', 'b', 'c']) await writeFile(join(root, 'd', name), '');
      let looks = 0;
      const { signal } = new AbortController();
      signal.throwIfAborted = () => {
        if (++looks > 2) throw new LangoError('canceled', 'enough');
      };
      await expect(call('fs_delete', { path: 'd', recursive: true }, { signal })).rejects.toThrow('enough');
      expect(await readdir(join(root, 'd'))).toHaveLength(2);
    }));

  it('deletes files, links and empty folders, and a whole tree only on request', () =>
    onStage(async ({ root, ask }) => {
      await mkdir(join(root, 'd/e'), { recursive: true });
      await writeFile(join(root, 'd/f'), '');
      await writeFile(join(root, 'd/e/g'), '');
      await symlink('d', join(root, 'l'));
      expect(await ask('fs_delete', { path: 'l', recursive: true })).toBe('deleted l');
      await expect(ask('fs_delete', { path: 'd' })).rejects.toThrow(
        'a folder that is not empty; recursive: true',
      );
      expect((await readdir(join(root, 'd'))).sort()).toEqual(['e', 'f']);
      expect(await ask('fs_delete', { path: 'd/f' })).toBe('deleted d/f');
      expect(await ask('fs_delete', { path: 'd', recursive: true })).toBe('deleted d with 2 items in it');
      await expect(ask('fs_delete', { path: 'd' })).rejects.toThrow('does not exist');
      expect(await readdir(root)).toEqual([]);
    }));

  it('asks a person before a whole tree, and finds out its outcome after a crash', () =>
    onStage(async ({ root, tools, settle }) => {
      const tool = toolNamed(tools, 'fs_delete');
      expect([tool.danger({ path: 'a', recursive: true }), tool.danger({ path: 'a' })]).toEqual([
        'dangerous',
        'moderate',
      ]);
      await writeFile(join(root, 'a'), '');
      expect(await settle('fs_delete', { path: 'a' })).toBeUndefined();
      expect(await settle('fs_delete', { path: 'b' })).toEqual({ content: 'deleted b' });
      expect(await settle('fs_delete', { path: 'b/c' })).toEqual({ content: 'deleted b/c' });
    }));
});

describe('the family of file tools', () => {
  it('accepts the arguments of the offline sentences, and has fitting effect classes', () =>
    onStage(async ({ tools }) => {
      for (const tool of tools) {
        const { name, schema, effect } = tool;
        const names = [...argumentsIn(name)];
        expect(name).toMatch(/^fs_[a-z]+$/);
        expect(names.length).toBeGreaterThan(0);
        expect(Object.keys(schema.shape)).toEqual(expect.arrayContaining(names));
        expect('settle' in tool).toBe(effect === 'queryable');
      }
    }));
});
