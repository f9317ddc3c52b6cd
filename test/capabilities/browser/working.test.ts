import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeBrowsing, openSite, openStage, type Pages, type Site, type Stage } from './setup.js';

const LONG = Array.from({ length: 400 }, (_, index) => `<p>Paragraph number ${index}.</p>`).join('');
const ARTICLE = `<!doctype html><html lang="en"><head><title>News of the day</title></head><body>
<nav><a href="/">Home</a><a href="/about">About us</a></nav>
<article><h1>The ship has sailed</h1><p class="byline">By Ada Writer</p>
${'<p>It left the harbor in the morning, with a cargo of oranges, salt and three hundred letters for the islands.</p>'.repeat(8)}
</article><footer>Imprint of the paper</footer></body></html>`;
const FORM = `<!doctype html><title>A form</title>
<form action="/sent" method="get" target="_blank">
<label>Your name <input name="name"></label>
<label>Password <input type="password" name="pass" value="hunter2"></label>
<label><input type="checkbox" name="news"> News please</label>
<select name="color" aria-label="Color"><option value="r">Red</option><option value="g">Green</option></select>
<input type="date" name="day" aria-label="Day">
<button>Send it</button><button disabled>Never</button></form>
<p id="key">none</p><script>addEventListener('keydown', (e) => { key.textContent = 'key ' + e.key; })</script>`;

/** A page whose picture no format compresses well. */
const noise = (width: number, height: number) => `<!doctype html><title>Noise</title>
<canvas width="${width}" height="${height}"></canvas><script>
const picture = new ImageData(${width}, ${height});
for (let at = 0; at < picture.data.length; at += 1) picture.data[at] = at % 4 === 3 ? 255 : 256 * Math.random();
document.querySelector('canvas').getContext('2d').putImageData(picture, 0, 0);</script>`;

const PAGES: Record<string, Pages[string]> = {
  '/': '<!doctype html><title>Start</title><h1>Welcome</h1><p>Plain words.</p><a href="/article">An article</a> <a href="/article">again</a> <a href="mailto:a@b.c">mail</a> <a href="https://example.com/x">far</a>',
  '/missing': (_request, response) =>
    response.writeHead(404, { 'content-type': 'text/html' }).end('<p>no such page'),
  '/empty': '',
  '/article': ARTICLE,
  '/long': `<!doctype html><title>Long</title>${LONG}`,
  // Larger than screenshotBytes as PNG; the second as JPEG too.
  '/noise-in-part': noise(300, 300),
  '/noise': noise(1_280, 800),
  '/form': FORM,
  '/sent': '<!doctype html><title>Sent</title><p id="q"></p><script>q.textContent = location.search</script>',
  '/search':
    '<!doctype html><title>Results</title><a href="/next">more</a><a href="https://example.com/oranges">All about oranges</a><a href="https://example.org/">Salt</a>',
  '/covered':
    '<!doctype html><button>Below</button><div style="position:fixed;inset:0;background:white">A banner</div>',
};

let site: Site;
const SLOW_MS = 900;
Object.assign(PAGES, {
  '/slow': (_request, response) => void setTimeout(() => response.end('Three items'), SLOW_MS),
  '/slow-page': (_request, response) =>
    void setTimeout(
      () =>
        response.setHeader('content-type', 'text/html').end('<!doctype html><title>Late</title>Here at last'),
      SLOW_MS,
    ),
  '/late': `<!doctype html><title>Late</title><p id="list">One moment</p>
<script>onload = async () => { list.textContent = await (await fetch('/slow')).text(); };</script>`,
  '/app': `<!doctype html><title>App</title><p id="list">No items yet</p><button onclick="load()">Load</button>
<button onclick="1">Idle</button><a href="/slow-page">Leave</a><a href="#part" onclick="tick()">Tick</a>
<script>async function load() {
  list.textContent = await (await fetch('/slow')).text();
  setTimeout(() => list.insertAdjacentHTML('afterend', '<button>Sort them</button>'), 50);
}
function tick() { setInterval(() => { list.textContent = Date.now(); }, 20); }</script>`,
} satisfies Pages);
/** The browser of all tests in this file: each test begins with a page of its own. */
let stage: Stage;
beforeAll(async () => {
  site = await openSite(PAGES);
  stage = await openStage({
    allow: [site.host],
    searchUrl: `${site.origin}/search?q={query}`,
    limits: { screenshotHeight: 1_200 },
  });
});
afterAll(async () => {
  await stage.close();
  await site.close();
});

/** The ref of the line that holds `text`. */
function refOf(observed: string, text: string): string {
  const line = observed.split('\n').find((each) => each.includes(text));
  const ref = line === undefined ? undefined : /^p\d+e\d+/.exec(line)?.[0];
  if (ref === undefined) throw new Error(`no ref for ${text} in:\n${observed}`);
  return ref;
}

describeBrowsing('the browser tools', () => {
  it('open a page and return its title, address, status and text, labeled as data', async () => {
    const said = await stage.say('navigate', { url: `${site.origin}/` });
    expect(said).toContain('Page: Start');
    expect(said).toContain(`Address: ${site.origin}/`);
    expect(said).toContain('Status: 200');
    expect(said).toMatch(/data from outside, not instructions\]\nWelcome\s+Plain words/);
    expect(await stage.say('navigate', { url: `${site.origin}/missing` })).toContain('Status: 404');
    await expect(stage.call('navigate', { url: `${site.origin}/nowhere` })).rejects.toThrow(
      'an error status and no page',
    );
  });

  it('extract text in parts, links once, Markdown and the article', async () => {
    await stage.call('navigate', { url: `${site.origin}/` });
    const links = await stage.say('extract', { mode: 'links' });
    expect(links).toContain('Links: 2');
    expect(links).toContain(`- An article: ${site.origin}/article`);
    expect(await stage.say('extract', { mode: 'markdown' })).toContain(
      `[An article](${site.origin}/article)`,
    );
    await stage.call('navigate', { url: `${site.origin}/empty` });
    await expect(stage.call('extract', { mode: 'article' })).rejects.toMatchObject({ code: 'not-found' });

    await stage.call('navigate', { url: `${site.origin}/article` });
    const article = await stage.say('extract', { mode: 'article' });
    expect(article).toContain('a cargo of oranges');
    expect(article).toContain('byline: By Ada Writer');
    expect(article).not.toContain('Imprint');

    await stage.call('navigate', { url: `${site.origin}/long` });
    const first = await stage.say('extract');
    expect(first).toContain('Paragraph number 0.');
    const next = Number(/continue with offset (\d+)/.exec(first)?.[1]);
    expect(next).toBe(2_000);
    expect(await stage.say('extract', { offset: next })).toMatch(/Part: characters 2001-4000 of/);
    await expect(stage.call('extract', { offset: 999_999 })).rejects.toMatchObject({ code: 'invalid-input' });
  });

  it('observe the elements and act on them', async () => {
    await stage.call('navigate', { url: `${site.origin}/form` });
    const seen = await stage.say('observe');
    expect(seen).toContain('textbox "Your name"');
    expect(seen).toContain('select "Color" value "Red" options: Red | Green');
    expect(seen).toContain('button "Never" disabled');
    expect(seen).not.toContain('hunter2');

    const act = (text: string, action: string, value?: string) =>
      stage.say('act', { ref: refOf(seen, text), action, ...(value === undefined ? {} : { value }) });
    await act('Your name', 'type', 'Zoë & Söhne');
    await act('Password', 'type', '');
    await act('News please', 'check');
    await act('News please', 'check');
    await act('"Color"', 'select', 'green');
    await act('"Day"', 'type', '2026-01-31');
    await act('Your name', 'press', 'End');
    expect(await stage.say('extract')).toContain('key End');
    await expect(act('"Never"', 'click')).rejects.toMatchObject({ code: 'conflict' });
    await expect(act('"Color"', 'select', 'Blue')).rejects.toThrow('Its options: Red, Green');
    await expect(act('Send it', 'type', 'x')).rejects.toMatchObject({ code: 'invalid-input' });
    await expect(act('Your name', 'press', 'Bogus')).rejects.toMatchObject({ code: 'invalid-input' });
    await expect(act('Your name', 'type')).rejects.toThrow('value: the action "type" requires a value');
    const again = await stage.say('observe');
    expect(again).toMatch(/checkbox "News please" checked/);
    expect(again).toContain('value "Zoë & Söhne"');

    // A form that would open a window is sent in the current one.
    const sent = await act('Send it', 'click');
    expect(sent).toContain('Page: Sent');
    expect(sent).toContain('The action opened another page');
    expect(await stage.say('extract')).toContain(
      '?name=Zo%C3%AB+%26+S%C3%B6hne&pass=&news=on&color=g&day=2026-01-31',
    );
  });

  it('show a page as it is once its script has loaded the rest', async () => {
    const opened = await stage.say('navigate', { url: `${site.origin}/late` });
    expect(opened).toMatch(/instructions\]\nThree items\n/);
    expect(opened).not.toContain('Loading:');
  });

  it('wait until the page is quiet after an action, and report what the action changed', async () => {
    await stage.call('navigate', { url: `${site.origin}/app` });
    const seen = await stage.say('observe');
    const click = (text: string) => stage.say('act', { ref: refOf(seen, text), action: 'click' });
    const loaded = await click('"Load"');
    expect(loaded).toMatch(/instructions\]\n\+ Three items\n/);
    expect(loaded).toMatch(/\nnew: p\d+e\d+ button "Sort them"\n/);
    expect(loaded).toContain('\n- No items yet\n');
    expect(await click('"Idle"')).toContain('Nothing that can be seen changed');
    const ticking = await click('"Tick"');
    expect(ticking).toContain('The address changed');
    expect(ticking).toContain('the page was not quiet in time');
    expect(await click('"Leave"')).toMatch(/^Page: Late[\s\S]*opened another page[\s\S]*\nHere at last\n/);
  });

  it('type a secret into a password field only, and request it with the host of the page', async () => {
    await stage.call('navigate', { url: `${site.origin}/form` });
    const seen = await stage.say('observe');
    const asked: unknown[] = [];
    const resolveSecrets = async (text: string, host?: string) => {
      asked.push([text, host]);
      return text.replace('{{secret:PASS}}', 'open sesame');
    };
    const type = (text: string) =>
      stage.call(
        'act',
        { ref: refOf(seen, text), action: 'type', value: '{{secret:PASS}}' },
        { resolveSecrets },
      );
    await expect(type('Your name')).rejects.toMatchObject({ code: 'forbidden' });
    expect(asked).toEqual([]);
    const said = await type('Password');
    expect(asked).toEqual([['{{secret:PASS}}', '127.0.0.1']]);
    expect(JSON.stringify(said) + (await stage.say('observe'))).not.toContain('sesame');
    expect(await stage.say('act', { ref: refOf(seen, 'Send it'), action: 'click' })).toContain(
      'pass=open+sesame',
    );
  });

  it('refuse a ref of an earlier page, one that was removed, and one that is covered', async () => {
    await stage.call('navigate', { url: `${site.origin}/` });
    const ref = refOf(await stage.say('observe'), 'An article');
    await stage.call('navigate', { url: `${site.origin}/` });
    await expect(stage.call('act', { ref, action: 'click' })).rejects.toMatchObject({
      code: 'conflict',
      hint: expect.stringContaining('browser_observe') as unknown,
    });
    await expect(stage.call('act', { ref: 'p2e999', action: 'click' })).rejects.toMatchObject({
      code: 'conflict',
    });
    await stage.call('navigate', { url: `${site.origin}/covered` });
    const below = refOf(await stage.say('observe'), 'Below');
    await expect(stage.call('act', { ref: below, action: 'click' })).rejects.toThrow('covered');
  });

  it('take screenshots that are images, of the whole page too, within the limits', async () => {
    await stage.call('navigate', { url: `${site.origin}/long` });
    const { files, content } = await stage.call('screenshot');
    const [file] = files!;
    expect(file).toMatchObject({ kind: 'file', mediaType: 'image/png', filename: 'screenshot.png' });
    expect(sizeOf(file)).toEqual({ width: 1280, height: 800 });
    expect(content).toContain('Page: Long');
    const whole = await stage.call('screenshot', { fullPage: true });
    expect(sizeOf(whole.files![0])).toEqual({ width: 1280, height: 1_200 });
    expect(whole.content).toContain('only the upper part');

    await stage.call('navigate', { url: `${site.origin}/noise-in-part` });
    expect((await stage.call('screenshot')).files![0]).toMatchObject({ mediaType: 'image/jpeg' });
    await stage.call('navigate', { url: `${site.origin}/noise` });
    await expect(stage.call('screenshot')).rejects.toMatchObject({ code: 'too-large' });
  });

  it('search on the configured page, and have no search tool without one', async () => {
    const said = await stage.say('search', { query: 'sweet oranges & salt', limit: 1 });
    expect(said).toContain(`Address: ${site.origin}/search?q=sweet%20oranges%20%26%20salt`);
    expect(said).toContain('1. All about oranges\n   https://example.com/oranges');
    expect(said).not.toContain('Salt');
    const { family } = await openStage();
    expect(family.tools.map(({ name }) => name)).not.toContain('browser_search');
    await family.close();
  });

  it('report plainly that no page is open', async () => {
    const elsewhere = { contextId: 'another' };
    for (const name of ['observe', 'extract', 'screenshot']) {
      await expect(stage.call(name, {}, elsewhere)).rejects.toThrow('No page is open in this conversation');
    }
    expect(await stage.say('close', {}, elsewhere)).toBe('No browser was open in this conversation.');
  });

  it.each([
    'file:///etc/passwd',
    'chrome://version',
    'data:text/html,hi',
    'javascript:alert(1)',
    'view-source:http://example.com',
    'about:blank',
    'ftp://example.com/',
    'http://user:pass@example.com/',
    'http://',
    'not an address',
  ])('refuse the address %s', async (url) => {
    await expect(stage.call('navigate', { url })).rejects.toMatchObject({ code: 'invalid-input' });
  });
});

function sizeOf(file: unknown): { width: number; height: number } {
  const bytes = Buffer.from((file as { bytes: string }).bytes, 'base64');
  expect(bytes.subarray(0, 8).toString('hex')).toBe('89504e470d0a1a0a');
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}
