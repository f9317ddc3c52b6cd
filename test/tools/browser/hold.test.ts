import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sendText, withServer } from '../../support/server.js';
import { unheld } from '../../support/watchdog.js';
import { describeBrowsing, openSite, type Pages, type Site } from './setup.js';

/** What a page sends to the browser's tools is read apart from the server. */

const MIB = 1024 * 1024;
const page = (script: string): string => `<title>Large</title><p>Words.<script>${script}</script>`;
const LARGE: Pages = {
  '/error': page('setTimeout(() => { throw new Error("x".repeat(8e7)) })'),
  '/bodies': page('for (let i = 0; i < 8; i++) fetch("/x", { method: "POST", body: "x".repeat(2e7) })'),
};

let site: Site;
beforeAll(async () => {
  site = await openSite({ ...LARGE, '/fine': '<title>Fine</title><p>Words.' });
});
afterAll(() => site.close());

describeBrowsing('a page that sends much to the browser', () => {
  it.each(Object.keys(LARGE))('never holds the server, or fills its memory: %s', async (path) => {
    const settings = { server: { port: 0 }, tools: { browser: { allowHosts: [site.host] } } };
    await withServer({ settings }, async (server) => {
      const open = (where: string) => sendText(server, `open ${site.origin}${where}`, { contextId: 'talk' });
      await open('/fine');
      const { result, grownBytes } = await unheld(() => open(path));
      expect(result.end.state).toBe('completed');
      expect(grownBytes).toBeLessThan(150 * MIB);
      expect((await open('/fine')).end.state).toBe('completed');
    });
  });
});
