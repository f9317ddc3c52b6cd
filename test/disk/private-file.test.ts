import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { makeFolder } from '../../src/disk/private-file.js';
import { newFolder, write } from '../config/folder.js';

describe('makeFolder', () => {
  it('makes a folder with all its missing parents, and accepts an existing one', async () => {
    const home = newFolder();
    for (let time = 0; time < 2; time += 1) await makeFolder(join(home, 'a/b/c'), 0o700);
    expect(statSync(join(home, 'a/b/c')).mode & 0o777).toBe(0o700);
  });

  it('makes it once for concurrent calls', async () => {
    const folder = join(newFolder(), 'a/b/c');
    await Promise.all(Array.from({ length: 20 }, () => makeFolder(folder)));
    expect(statSync(folder).isDirectory()).toBe(true);
  });

  it.each([
    ['a name too long', `a/b/${'c'.repeat(300)}`, 'ENAMETOOLONG'],
    ['a way through a file', 'file/a/b', 'ENOTDIR'],
    ['a file', 'file', 'EEXIST'],
  ])('leaves nothing behind when it fails for %s', async (_, path, code) => {
    const home = newFolder();
    write(home, 'file', '');
    await expect(makeFolder(join(home, path))).rejects.toMatchObject({ code });
    expect(readdirSync(home)).toEqual(['file']);
  });
});
