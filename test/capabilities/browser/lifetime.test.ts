import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { lango, makeHome, startServer } from '../../cli/lango-process.js';
import { until } from '../../support/until.js';
import {
  describeBrowsing,
  openSite,
  openStage,
  ownBrowsers,
  ownDrivers,
  type Site,
  type Stage,
} from './setup.js';

let site: Site;
let stage: Stage;
beforeAll(async () => {
  site = await openSite({
    '/': '<title>Here</title><script>document.title += localStorage.seen ?? " new"; localStorage.seen = " again"</script>',
    '/never': () => undefined,
    '/hang': '<title>Hang</title><button onclick="for(;;);">Hang</button>',
  });
});
afterAll(() => site.close());
afterEach(() => stage.close());

const ownFolders = async () =>
  (await readdir(tmpdir())).filter((name) => name.startsWith(`lango-browser-${process.pid}-`));

/** The first process of a browser: the others are its children. */
async function mainProcess(): Promise<number> {
  for (const pid of await ownBrowsers()) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8');
    if (line.includes('--remote-debugging-pipe')) return pid;
  }
  throw new Error('no browser runs');
}

describeBrowsing('a browser', () => {
  it('is started by its first use, and leaves no process and no file', async () => {
    stage = await openStage({ allow: [site.host] });
    expect(await ownFolders()).toEqual([]);
    await stage.call('navigate', { url: site.origin });
    expect((await ownBrowsers()).length).toBeGreaterThan(0);
    expect(await stage.say('close')).toBe('The browser is closed.');
    await until(async () => (await ownBrowsers()).length === 0);
    expect(await ownFolders()).toEqual([]);
    expect(await ownDrivers()).toEqual([]);
    await stage.call('navigate', { url: site.origin });
    await stage.close();
    await until(async () => (await ownBrowsers()).length === 0);
    expect(await ownFolders()).toEqual([]);
    await expect(stage.call('navigate', { url: site.origin })).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('closes a page whose script hangs, and the next call begins with a fresh page', async () => {
    stage = await openStage({ allow: [site.host] });
    await stage.say('navigate', { url: `${site.origin}/hang` });
    const ref = /p\d+e\d+/.exec(await stage.say('observe'))![0];
    await expect(stage.call('act', { ref, action: 'click' })).rejects.toMatchObject({ code: 'timeout' });
    await expect(stage.call('extract')).rejects.toMatchObject({ code: 'not-found' });
    expect(await stage.say('navigate', { url: site.origin })).toContain('Page: Here');
  });

  it('runs in its own sandbox, never as root, and without a DevTools port', async () => {
    stage = await openStage({ allow: [site.host] });
    await stage.call('navigate', { url: site.origin });
    for (const pid of await ownBrowsers()) {
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
      expect(status).not.toMatch(/^Uid:\t0\t/m);
      const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      expect(line).not.toMatch(/--remote-debugging-port|--no-sandbox\0/);
      if (line.includes('--type=renderer')) expect(status).toMatch(/^Seccomp:\t2$/m);
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
      expect(environment).not.toContain('LANGO');
      expect(environment).not.toContain('NODE_OPTIONS');
    }
  });

  it('belongs to one conversation of one owner, with a fresh profile', async () => {
    stage = await openStage({ allow: [site.host] });
    const others = [{ contextId: 'other' }, { owner: 'bob' }, { tenant: 'elsewhere' }];
    expect(await stage.say('navigate', { url: site.origin })).toContain('Page: Here new');
    expect(await stage.say('navigate', { url: site.origin })).toContain('Page: Here again');
    for (const other of others) {
      await expect(stage.call('extract', {}, other)).rejects.toMatchObject({ code: 'not-found' });
    }
    expect(await stage.say('navigate', { url: site.origin }, others[1])).toContain('Page: Here new');
    await stage.call('close');
    expect(await stage.say('navigate', { url: site.origin })).toContain('Page: Here new');
  });

  it('is closed for another conversation when it is idle, and not while it works', async () => {
    stage = await openStage({ allow: [site.host], limits: { contexts: 1, navigationSeconds: 5 } });
    await stage.call('navigate', { url: site.origin });
    const asked = once(site.server, 'request');
    const busy = stage.call('navigate', { url: `${site.origin}/never` }).catch(() => undefined);
    await asked;
    await expect(stage.call('navigate', { url: site.origin }, { owner: 'bob' })).rejects.toMatchObject({
      code: 'too-many',
    });
    await busy;
    await stage.call('navigate', { url: site.origin }, { owner: 'bob' });
    await expect(stage.call('extract')).rejects.toMatchObject({ code: 'not-found' });
  });

  it('is closed after its idle time', async () => {
    stage = await openStage({ allow: [site.host], limits: { idleSeconds: 1 } });
    await stage.call('navigate', { url: site.origin });
    await until(async () => (await ownBrowsers()).length === 0);
    await expect(stage.call('extract')).rejects.toMatchObject({
      code: 'not-found',
      hint: expect.stringContaining('browser_navigate first') as unknown,
    });
  });

  it('ends its step with an error when it dies, and the next call gets a fresh one', async () => {
    stage = await openStage({ allow: [site.host] });
    await stage.call('navigate', { url: site.origin });
    const asked = once(site.server, 'request');
    const going = stage.call('navigate', { url: `${site.origin}/never` });
    going.catch(() => undefined);
    await asked;
    process.kill(await mainProcess(), 'SIGKILL');
    await expect(going).rejects.toMatchObject({
      code: 'unavailable',
      message: 'The browser ended, and its page is lost.',
    });
    await expect(stage.call('extract')).rejects.toMatchObject({ code: 'not-found' });
    expect(await stage.say('navigate', { url: site.origin })).toContain('Page: Here new');
    await stage.close();
    await until(async () => (await ownBrowsers()).length === 0);
    expect(await ownFolders()).toEqual([]);
  });

  it('ends with its driver, and a signal to all processes of a terminal ends neither', async () => {
    stage = await openStage({ allow: [site.host] });
    const asked = once(site.server, 'request');
    const going = stage.say('navigate', { url: site.origin });
    await asked;
    const [driver = 0, ...others] = await ownDrivers();
    expect(others).toEqual([]);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(driver, signal);
    expect(await going).toContain('Page: Here new');

    const hanging = once(site.server, 'request');
    const lost = stage.call('navigate', { url: `${site.origin}/never` });
    lost.catch(() => undefined);
    await hanging;
    process.kill(driver, 'SIGKILL');
    await expect(lost).rejects.toMatchObject({ code: 'unavailable' });
    await until(async () => (await ownBrowsers()).length === 0);
    await until(async () => (await ownFolders()).length === 0);
    expect(await stage.say('navigate', { url: site.origin })).toContain('Page: Here new');
    await stage.close();
    expect(await ownDrivers()).toEqual([]);
  });

  it('is stopped when its step is canceled', async () => {
    stage = await openStage({ allow: [site.host] });
    const { signal, abort } = abortable();
    const asked = once(site.server, 'request');
    const going = stage.call('navigate', { url: `${site.origin}/never` }, { signal });
    going.catch(() => undefined);
    await asked;
    abort();
    await expect(going).rejects.toThrow('canceled');
    await until(async () => (await ownBrowsers()).length === 0);
  });

  it('dies with a killed server, and the next server removes its files', async () => {
    stage = await openStage({ allow: [site.host] });
    const settings = `tools: { exec: { enabled: false }, browser: { allowHosts: ["${site.host}"] } }`;
    const home = await makeHome(settings);
    const server = await startServer(home);
    const { pid } = server.child;
    const left = async () =>
      (await readdir(tmpdir())).filter((name) => name.startsWith(`lango-browser-${pid}-`));
    try {
      // The public path: the program's client, the orchestrator, a delegation over A2A, the navigator.
      const { stdout } = await lango(['send', `open ${site.origin}/`], { env: server.env });
      expect(stdout).toContain('Here new');
      expect((await ownBrowsers(pid)).length).toBeGreaterThan(0);
      // Read before the kill: after it, a browser of another test may be the next one.
      expect(await left()).toHaveLength(1);
    } finally {
      server.child.kill('SIGKILL');
      await until(() => server.child.exitCode !== null || server.child.signalCode !== null);
    }
    await until(async () => (await ownBrowsers(pid)).length === 0);
    await stage.call('navigate', { url: site.origin });
    expect(await left()).toEqual([]);
    await home.remove();
  });
});

function abortable(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(new Error('canceled')) };
}
