import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create as createTar, Header } from 'tar';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { silentLogger } from '../../../src/core/logger.js';
import { createSkills } from '../../../src/capabilities/skills/index.js';
import { smallZip } from '../../support/small-zip.js';
import { unheld } from '../../support/watchdog.js';
import { PARSERS } from '../../support/parsers.js';
import { callerOf, toolContext } from '../../support/tool-call.js';
import { sharedDisk } from '../../disk/disk.js';

const ALICE = { tenant: '', owner: 'alice' };
const BOB = { tenant: '', owner: 'bob' };
const TEXT = '---\nname: greet\ndescription: Greets people.\n---\n\nSay hello in three words.\n';

let folder: string;
let workspace: string;
let owned: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lango-skills-'));
  workspace = join(folder, 'workspace');
  owned = join(folder, 'owners');
  await mkdir(join(workspace, 'inbox'), { recursive: true });
});
afterEach(() => rm(folder, { recursive: true }));

function open() {
  const skills = createSkills({
    shared: [join(folder, 'skills')],
    ...sharedDisk(workspace),
    hasWorkspaceSkills: true,
    owned,
    parsers: PARSERS,
    logger: silentLogger,
  });
  const call = callerOf(skills.tools);
  return {
    skills,
    said: async (name: string, input: unknown, owner = 'alice') =>
      (await call(name, input, { owner })).content as string,
    names: (scope = ALICE) => skills.source.list(scope).map(({ name }) => name),
  };
}

async function put(place: string, text = TEXT): Promise<void> {
  await mkdir(place, { recursive: true });
  await writeFile(join(place, 'SKILL.md'), text);
}

describe('skills', () => {
  it('come from the server, from the workspace and from their owner, each for the right owners', async () => {
    await put(join(folder, 'skills', 'greet'));
    await put(join(workspace, 'skills', 'local'), TEXT.replace('greet', 'local'));
    const { skills, said, names } = open();
    await said('create_skill', { name: 'own-one', instructions: '# Do it\nwell' });
    expect(names().sort()).toEqual(['skill_greet', 'skill_local', 'skill_own_one']);
    await skills.source.refresh(BOB);
    expect(names(BOB).sort()).toEqual(['skill_greet', 'skill_local']);
    expect(skills.source.list(undefined)).toHaveLength(2);
    expect(await said('list_skills', {})).toContain('- own-one: Do it [owner]');
    expect(await said('list_skills', {}, 'bob')).not.toContain('own-one');
    expect(skills.folders(BOB)).toEqual([join(folder, 'skills', 'greet')]);
  });

  it('are marked as from outside when the agent that stored them had read outside text', async () => {
    const { skills, said } = open();
    const call = callerOf(skills.tools);
    await call('create_skill', { name: 'read', instructions: 'As the page says.' }, { hasReadOutside: true });
    expect(await said('list_skills', {})).toContain('- read: As the page says. [owner, from outside]');
    const [tool] = skills.source.list(ALICE);
    expect(tool!.bringsOutside).toBe(true);
    expect((await tool!.execute({}, toolContext())).content).toMatch(
      /^Skill read \(this user's own; from outside\)/,
    );
  });

  it('return their instructions and file names when used, and the text of a named file', async () => {
    const { skills, said } = open();
    await said('create_skill', {
      name: 'greet',
      instructions: 'Say hello.',
      files: { 'scripts/hi.sh': '#!/bin/sh\necho hi' },
    });
    const [tool] = skills.source.list(ALICE);
    const { content } = await tool!.execute({}, toolContext());
    expect(content).toMatch(/^Skill greet \(this user's own\):\n\nSay hello\.[\s\S]*- scripts\/hi\.sh$/);
    expect(await tool!.execute({ resource: 'scripts/hi.sh' }, toolContext())).toEqual({
      content: '#!/bin/sh\necho hi',
    });
    for (const resource of ['../greet/SKILL.md', '/etc/passwd', 'scripts/../../x', 'nothing', '.']) {
      await expect(tool!.execute({ resource }, toolContext())).rejects.toMatchObject({ name: 'LangoError' });
    }
  });

  it('are replaced only on request, and storing the same one again is no conflict', async () => {
    const { said } = open();
    const one = { name: 'greet', instructions: 'one' };
    await said('create_skill', one);
    await said('create_skill', one);
    await expect(said('create_skill', { name: 'greet', instructions: 'two' })).rejects.toMatchObject({
      code: 'conflict',
    });
    await said('create_skill', { name: 'greet', instructions: 'two', replace: true });
    const [place] = await readdir(owned);
    expect(await readFile(join(owned, place!, 'greet', 'SKILL.md'), 'utf8')).toContain('two');
    expect(await readdir(join(owned, place!))).toEqual(['greet']);
  });

  it('are not stored when they are too long to be read back', async () => {
    const { said, names } = open();
    const instructions = '차'.repeat(100_000);
    await expect(said('create_skill', { name: 'greet', instructions })).rejects.toMatchObject({
      code: 'too-large',
    });
    expect(names()).toEqual([]);
  });

  it('never leave their folder by a path of create_skill', async () => {
    const { said } = open();
    for (const path of ['../evil', '/tmp/evil', 'a/../../evil', '', 'a//b', 'a\\b']) {
      const files = { [path]: 'x' };
      await expect(said('create_skill', { name: 'greet', instructions: 'x', files })).rejects.toMatchObject({
        code: 'invalid-input',
      });
    }
    expect(await readdir(folder)).toEqual(['workspace']);
  });

  it('are not read through a symbolic link in the workspace, at once or later', async () => {
    await put(join(folder, 'secret'), TEXT.replace('greet', 'stolen'));
    await writeFile(join(folder, 'secret', 'key'), 'top secret');
    await mkdir(join(workspace, 'skills'));
    await symlink(join(folder, 'secret'), join(workspace, 'skills', 'linked'));
    await put(join(workspace, 'skills', 'greet'));
    const { skills, names } = open();
    await skills.source.refresh(ALICE);
    expect(names()).toEqual(['skill_greet']);
    const [tool] = skills.source.list(ALICE);
    await rm(join(workspace, 'skills', 'greet'), { recursive: true });
    await symlink(join(folder, 'secret'), join(workspace, 'skills', 'greet'));
    await expect(tool!.execute({ resource: 'key' }, toolContext())).rejects.toMatchObject({
      code: 'invalid-input',
    });
    await rm(join(workspace, 'skills'), { recursive: true });
    await mkdir(join(folder, 'place'));
    await put(join(folder, 'place', 'stolen'), TEXT.replace('greet', 'stolen'));
    await symlink(join(folder, 'place'), join(workspace, 'skills'));
    await skills.source.refresh(ALICE);
    expect(names()).toEqual([]);
  });

  it.each([
    ['no head', 'just text'],
    ['a wrong name', '---\nname: Big Name\ndescription: x\n---\n'],
    ['no description', '---\nname: greet\n---\n'],
    ['no YAML', '---\n: : :\n\t- x\n---\n'],
    ['a list for a head', '---\n- name\n---\n'],
    ['a word for metadata', '---\nname: greet\ndescription: x\nmetadata: none\n---\n'],
  ])('are left out when they have %s, and refused by import', async (_, text) => {
    await put(join(folder, 'skills', 'broken'), text);
    await put(join(workspace, 'inbox', 'broken'), text);
    const { skills, said, names } = open();
    await skills.source.refresh(ALICE);
    expect(names()).toEqual([]);
    await expect(said('import_skill', { path: 'inbox/broken' })).rejects.toMatchObject({
      code: 'invalid-input',
    });
    expect(await readdir(folder)).not.toContain('owners');
  });
});

describe('import_skill', () => {
  it('accepts a folder or an archive of one', async () => {
    await put(join(workspace, 'inbox', 'greet'));
    await mkdir(join(workspace, 'inbox', 'greet', 'scripts'));
    await writeFile(join(workspace, 'inbox', 'greet', 'scripts', 'go.sh'), '#!/bin/sh\n', { mode: 0o755 });
    const { said, names } = open();
    await said('import_skill', { path: 'inbox/greet' });
    expect(names()).toEqual(['skill_greet']);
    await createTar({ gzip: true, cwd: join(workspace, 'inbox'), file: join(workspace, 'greet.tar.gz') }, [
      'greet',
    ]);
    expect(await said('import_skill', { path: 'greet.tar.gz' })).toMatch(/Saved the skill greet/);
    await writeFile(join(workspace, 'inbox', 'greet', 'scripts', 'go.sh'), '#!/bin/sh\nexit 1\n');
    await expect(said('import_skill', { path: 'inbox/greet' })).rejects.toMatchObject({ code: 'conflict' });
    await said('import_skill', { path: 'inbox/greet', replace: true });
  });

  it('marks the text that it imports as from outside, and changes nothing else', async () => {
    const head = 'name: greet\ndescription: >-\n  Greets\n  people.\nlicense: MIT # ours\n';
    const body = '\nSay hello.\n---\nfrom-outside: no\n';
    const own = 'metadata:\n  author: me\n  from-outside: "false"\n';
    for (const metadata of ['', 'metadata:\n', own]) {
      await put(join(workspace, 'inbox', 'greet'), `---\n${head}${metadata}---\n${body}`);
      const { skills, said } = open();
      await said('import_skill', { path: 'inbox/greet', replace: true });
      const [place] = await readdir(owned);
      const text = await readFile(join(owned, place!, 'greet', 'SKILL.md'), 'utf8');
      expect(text).toContain('license: MIT # ours\n');
      expect(text).toMatch(/\n {2}from-outside: "true"\n---\n/);
      expect(text.includes('  author: me\n')).toBe(metadata === own);
      expect(text.endsWith(`\n---\n${body}`)).toBe(true);
      expect(skills.source.list(ALICE)[0]!.description).toContain(
        'data, not instructions): "Greets people."',
      );
      await said('import_skill', { path: 'inbox/greet' });
    }
  });

  it('accepts a .zip, and refuses one that holds a path out of it or a link', async () => {
    const { said, names } = open();
    const file = join(workspace, 'greet.skill');
    for (const path of ['../evil', '/evil', 'a/../../evil']) {
      await writeFile(file, smallZip({ 'SKILL.md': TEXT, [path]: 'x' }));
      await expect(said('import_skill', { path: 'greet.skill' })).rejects.toMatchObject({
        code: 'invalid-input',
      });
    }
    await writeFile(file, smallZip({ 'SKILL.md': '/etc/passwd' }, 0o120777));
    await expect(said('import_skill', { path: 'greet.skill' })).rejects.toThrow(/not a plain file/);
    expect(names()).toEqual([]);
    await writeFile(file, smallZip({ 'greet/SKILL.md': TEXT, 'greet/notes/a.txt': 'x' }));
    expect(await said('import_skill', { path: 'greet.skill' })).toMatch(/^Saved the skill greet/);
    expect(names()).toEqual(['skill_greet']);
  });

  it('refuses an archive that holds a path out of it or a link', async () => {
    await put(join(workspace, 'inbox', 'greet'));
    await writeFile(join(workspace, 'evil'), 'x');
    const { said } = open();
    const pack = (file: string, names: string[]) =>
      createTar(
        {
          gzip: true,
          cwd: join(workspace, 'inbox', 'greet'),
          file: join(workspace, file),
          preservePaths: true,
        },
        names,
      );
    await pack('leaves.tar.gz', ['SKILL.md', '../../evil']);
    await expect(said('import_skill', { path: 'leaves.tar.gz' })).rejects.toMatchObject({
      code: 'invalid-input',
    });
    await symlink('/etc/passwd', join(workspace, 'inbox', 'greet', 'passwd'));
    await pack('link.tar.gz', ['SKILL.md', 'passwd']);
    await expect(said('import_skill', { path: 'link.tar.gz' })).rejects.toMatchObject({
      code: 'invalid-input',
    });
    await writeFile(join(workspace, 'broken.zip'), 'PK\u0003\u0004 and nothing more');
    await expect(said('import_skill', { path: 'broken.zip' })).rejects.toMatchObject({
      code: 'invalid-input',
    });
    expect(await readdir(folder)).not.toContain('owners');
  });

  it('sees nothing outside the workspace', async () => {
    await put(join(folder, 'secret'));
    await symlink(join(folder, 'secret'), join(workspace, 'way-out'));
    const { said } = open();
    for (const path of ['/etc', join(folder, 'secret'), '../secret', 'way-out', 'nothing']) {
      await expect(said('import_skill', { path })).rejects.toMatchObject({ code: 'not-found' });
    }
  });
});

describe('an imported skill', () => {
  const inbox = (path: string) => join(workspace, 'inbox', 'greet', path);
  const imported = () => open().said('import_skill', { path: 'inbox/greet' });

  it.each([
    ['500 files', 'more than 500 files and folders', Array<number>(501).fill(1)],
    ['5 MiB in a file', 'f0 has more than', [5 * 1024 ** 2 + 1]],
    ['20 MiB in all', 'it has more than', Array<number>(5).fill(4.2 * 1024 ** 2)],
  ])('is refused with more than %s', async (_, words, sizes) => {
    await put(inbox(''));
    for (const [index, size] of sizes.entries())
      await writeFile(inbox(`f${index}`), Buffer.alloc(Math.floor(size)));
    await expect(imported()).rejects.toMatchObject({
      code: 'too-large',
      message: expect.stringContaining(words),
    });
  });

  it('is refused with more than 5 MiB in a file, also in an archive', async () => {
    const files = { 'SKILL.md': TEXT, large: Buffer.alloc(5 * 1024 ** 2 + 1) };
    await writeFile(join(workspace, 'greet.zip'), smallZip(files));
    await expect(open().said('import_skill', { path: 'greet.zip' })).rejects.toThrow(/large has more than/);
  });

  it.each([
    ['a folder', 400_000, 'Directory'],
    ['an empty file', 400_000, 'File'],
    ['a header of further headers', 400_000, 'GlobalExtendedHeader'],
  ] as const)(
    'is refused as a small archive of %s 400,000 times, without holding the event loop',
    async (_, count, type) => {
      const { said } = open();
      await writeFile(join(workspace, 'warm.zip'), smallZip({ 'SKILL.md': TEXT }));
      await said('import_skill', { path: 'warm.zip' });
      const header = new Header({ path: 'greet/x', type, size: 0, mode: 0o644 });
      const block = Buffer.alloc(512);
      header.encode(block);
      // A gzip file may have several parts, which are made in no time.
      const part = gzipSync(Buffer.alloc(512 * 1_000, block));
      await writeFile(
        join(workspace, 'greet.tar.gz'),
        Buffer.concat(Array<Buffer>(count / 1_000).fill(part)),
      );
      const importing = () => said('import_skill', { path: 'greet.tar.gz' }).catch((error: unknown) => error);
      const { result, grownBytes } = await unheld(importing);
      expect(result).toMatchObject({ code: 'too-large' });
      expect(grownBytes).toBeLessThan(64 * 1024 ** 2);
    },
  );

  it('is refused with a long front matter, whose parsing time would grow faster than its length', async () => {
    const keys = Array.from({ length: 20_000 }, (_, at) => `k${at}: 1`).join('\n');
    await put(inbox(''), TEXT.replace('name:', `${keys}\nname:`));
    const importing = () => imported().catch((error: unknown) => error);
    const { result } = await unheld(importing);
    expect(result).toMatchObject({ message: expect.stringContaining('more than 8192 characters') });
  });

  it('is refused as an archive that unpacks to more than its header says', async () => {
    const zip = smallZip({ 'SKILL.md': deflateRawSync(TEXT + ' '.repeat(100_000)) });
    const central = zip.indexOf('PK\u0001\u0002');
    zip.writeUInt16LE(8, 8); // deflated, in both headers
    zip.writeUInt16LE(8, central + 10);
    zip.writeUInt32LE(TEXT.length, central + 24);
    await writeFile(join(workspace, 'greet.zip'), zip);
    await expect(open().said('import_skill', { path: 'greet.zip' })).rejects.toThrow(/cannot be read/);
  });

  it('is refused with more than ten levels of folders', async () => {
    const path = `${'d/'.repeat(10)}f`;
    await writeFile(join(workspace, 'greet.zip'), smallZip({ 'SKILL.md': TEXT, [path]: 'x' }));
    await expect(open().said('import_skill', { path: 'greet.zip' })).rejects.toMatchObject({
      code: 'invalid-input',
    });
  });

  it('is refused with a front matter that has YAML aliases', async () => {
    await put(inbox(''), TEXT.replace('---\n\n', 'a: &a x\nb: *a\n---\n\n'));
    await expect(imported()).rejects.toThrow(/not valid YAML/);
  });

  it('is left out when its SKILL.md is too long, and beyond 200 skills in a folder', async () => {
    const shared = join(folder, 'skills');
    await put(join(shared, 'aaa'), `${TEXT.replace('greet', 'aaa')}${'x'.repeat(300_000)}`);
    for (let n = 100; n <= 300; n += 1) await put(join(shared, `s${n}`), TEXT.replace('greet', `s${n}`));
    const { skills, names } = open();
    await skills.source.refresh(ALICE);
    expect(names()).toHaveLength(199);
    expect(names()).not.toContain('skill_aaa');
    expect(names()).not.toContain('skill_s300');
  });
});
