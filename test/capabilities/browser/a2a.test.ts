import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { doings, sendText, withServer, type Outcome } from '../../support/server.js';
import { describeBrowsing, openSite, type Site } from './setup.js';

let site: Site;
beforeAll(async () => {
  const words = '<p>It left the harbor in the morning, with a cargo of oranges and of letters.</p>'.repeat(8);
  site = await openSite({
    '/': '<title>Harbor</title><h1>The harbor</h1><a href="/ship">The ship</a><button>Ring</button>',
    '/ship': `<title>Ship</title><nav>Menu of the site</nav><article><h1>The ship</h1>${words}</article>`,
    '/search': '<title>Found</title><a href="https://example.com/oranges">All about oranges</a>',
  });
});
afterAll(() => site.close());

const settings = (changes: object = {}) => ({
  server: { port: 0 },
  tools: { browser: { enabled: true, allowHosts: [site.host], ...changes } },
});

function answerOf({ events }: Outcome): string {
  return events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
}

describeBrowsing('the navigator, asked in plain sentences over A2A', () => {
  it('opens a page, takes a screenshot, reads, lists and closes', async () => {
    await withServer({ settings: settings() }, async (server) => {
      const contextId = 'one-talk';
      const ask = (text: string) => sendText(server, text, { contextId });
      const shot = await ask(`open ${site.origin}/ and then take a screenshot`);
      expect(shot.end.state).toBe('completed');
      expect(doings(shot)).toEqual(
        expect.arrayContaining([
          'lango-orchestrator: delegation-start navigator',
          'navigator: tool-call browser_navigate',
          'navigator: tool-call browser_screenshot',
        ]),
      );
      const files = shot.events.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []));
      expect(files).toEqual([
        expect.objectContaining({ kind: 'file', mediaType: 'image/png', filename: 'screenshot.png' }),
      ]);
      const bytes = Buffer.from((files[0] as { bytes: string }).bytes, 'base64');
      expect(bytes.subarray(0, 8).toString('hex')).toBe('89504e470d0a1a0a');

      // Any A2A client finds the screenshot on the task: a file part with raw bytes.
      const task = await server.fetch(`/tasks/${shot.taskId}`, { headers: { 'a2a-version': '1.0' } });
      expect(await task.text()).toContain(`"raw":"${bytes.toString('base64').slice(0, 60)}`);

      expect(answerOf(await ask('list the links of the page'))).toContain(`The ship: ${site.origin}/ship`);
      expect(answerOf(await ask('what can be clicked on the page?'))).toContain('button "Ring"');
      const read = answerOf(await ask(`open ${site.origin}/ship and then read the article`));
      expect(read).toContain('a cargo of oranges');
      expect(answerOf(await ask('close the browser'))).toContain('The browser is closed.');
      expect(answerOf(await ask('take a screenshot'))).toContain('No page is open in this conversation');
    });
  });

  it('searches on the configured page', async () => {
    await withServer(
      { settings: settings({ searchUrl: `${site.origin}/search?q={query}` }) },
      async (server) => {
        const found = await sendText(server, 'search with the browser for oranges');
        expect(doings(found)).toContain('navigator: tool-call browser_search');
        expect(answerOf(found)).toContain('https://example.com/oranges');
      },
    );
  });

  it('reports that a private address is refused', async () => {
    await withServer({ settings: settings({ allowHosts: [] }) }, async (server) => {
      const refused = await sendText(server, `open ${site.origin}/`);
      expect(answerOf(refused)).toContain('has a private or loopback address');
      expect(site.asked.filter((path) => path === '/')).toHaveLength(1);
    });
  });
});

it('the browser family is reported as missing, with a hint, on a machine without Chromium', async () => {
  const settings = {
    server: { port: 0 },
    tools: { browser: { enabled: true, executable: '/nowhere/chromium' } },
  };
  await withServer({ settings }, async (server) => {
    expect(server.address.agents).not.toContain('navigator');
    const status = (await (await server.fetch('/lango/agents')).json()) as { families: unknown[] };
    expect(status.families).toContainEqual({
      name: 'browser',
      state: 'missing',
      note: '/nowhere/chromium is not an executable file.',
      hint: 'Correct tools.browser.executable, or remove it to let Lango search for Chromium.',
    });
    expect(JSON.stringify(server.log)).toContain('no browser tools');
  });
});
