import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sendText, withServer } from '../../support/server.js';
import { unheld } from '../../support/watchdog.js';
import { describeBrowsing, openSite, openStage, type Pages, type Site, type Stage } from './setup.js';

/** The browser tools read data of a page outside the server process. */

const MIB = 1024 * 1024;
const page = (script: string): string => `<title>Large</title><p>Words.<script>${script}</script>`;
const LARGE: Pages = {
  '/error': page('setTimeout(() => { throw new Error("x".repeat(8e7)) })'),
  '/bodies': page('for (let i = 0; i < 8; i++) fetch("/x", { method: "POST", body: "x".repeat(2e7) })'),
};

/** More errors at once than fit into the memory of the driver. */
const TOO_LARGE = page(
  'for (let i = 0; i < 12; i++) setTimeout(() => { throw new Error(i + "x".repeat(8e7)) })',
);

let site: Site;
let stage: Stage | undefined;
beforeAll(async () => {
  site = await openSite({ ...LARGE, '/too-large': TOO_LARGE, '/fine': '<title>Fine</title><p>Words.' });
});
afterAll(async () => {
  await stage?.close();
  await site.close();
});

describeBrowsing('a page that sends much data to the browser tools', () => {
  it.each(Object.keys(LARGE))(
    'never holds the event loop of the server, or fills its memory: %s',
    async (path) => {
      const settings = { server: { port: 0 }, tools: { browser: { allowHosts: [site.host] } } };
      await withServer({ settings }, async (server) => {
        const open = (where: string) =>
          sendText(server, `open ${site.origin}${where}`, { contextId: 'talk' });
        await open('/fine');
        const { result, grownBytes } = await unheld(() => open(path));
        expect(result.end.state).toBe('completed');
        expect(grownBytes).toBeLessThan(150 * MIB);
        expect((await open('/fine')).end.state).toBe('completed');
      });
    },
  );

  it('is closed when the data exceeds 512 MiB, with the reason, and the next page opens', async () => {
    const browser = (stage = await openStage({ allow: [site.host] }));
    const opening = browser.say('navigate', { url: `${site.origin}/too-large` });
    await expect(opening.then(() => browser.say('extract'))).rejects.toMatchObject({
      code: 'too-large',
      message: expect.stringContaining('more than fits into 512 MiB'),
    });
    expect(await browser.say('navigate', { url: `${site.origin}/fine` })).toContain('Page: Fine');
  });
});
