import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { give, Stranger } from '../../lab/abuse/stranger.js';
import { AUDIENCE, startIssuer, type Issuer } from '../support/issuer.js';
import { describeConsole, say, Stage } from './stage.js';

let issuer: Issuer;
let stage: Stage;

describeConsole('the console for an operator', () => {
  beforeAll(async () => {
    issuer = await startIssuer();
    stage = await Stage.open(
      `{ mode: jwt, jwt: { issuer: '${issuer.url}', audience: ['${AUDIENCE}'] } }\negress: { allowPrivate: ['${new URL(issuer.url).host}'] }`,
    );
  });
  afterAll(async () => {
    await stage?.close();
    await issuer.close();
  });

  it('shows the data of the selected person, and says that nothing can be changed', async () => {
    const alice = await stage.signedInWith(await issuer.token({ sub: 'alice' }));
    await alice.goto(`${stage.origin}/console/#/chat`);
    await say(alice, 'hello from alice');
    await alice.getByText('Hello, you.').waitFor();
    expect(await alice.getByLabel('Data of').count()).toBe(0);
    await alice.evaluate("void (location.hash = '#/evaluations')");
    await alice.getByText('This is for an operator of the server').waitFor();

    const page = await stage.signedInWith(await issuer.token({ sub: 'root', scope: 'lango:operator' }));
    await page.evaluate("void (location.hash = '#/tasks')");
    await page.getByText('There are no such tasks').waitFor();
    await page.getByLabel('Data of').selectOption('user:alice');
    await page.getByText('You look at the data of user:alice').waitFor();
    await page.getByRole('link', { name: /hello from alice/ }).click();
    await page.getByText('Hello, you.').waitFor();
    await page.getByRole('link', { name: 'Open its conversation' }).click();
    await say(page, 'hello from root');
    await page.getByText('not changed, by an operator').waitFor();
    await page.getByLabel('Data of').selectOption('yourself');
    await page.getByText('You look at the data of').waitFor({ state: 'detached' });
    await page.goto(`${stage.origin}/console/#/tasks`);
    await page.evaluate("void (location.hash = '#/tasks')");
    await page.getByText('There are no such tasks').waitFor();
  });

  it('is not led into the session of another person by a page of another port', async () => {
    const [alices, mallorys] = [await issuer.token({ sub: 'alice' }), await issuer.token({ sub: 'mallory' })];
    const headers = {
      authorization: `Bearer ${mallorys}`,
      'lango-console': 'the-page-of-mallory-in-her-browser',
    };
    const opened = await fetch(`${stage.origin}/console/session`, { method: 'POST', headers });
    const cookie = opened.headers.get('set-cookie')!.split(';')[0]!;
    const sent = JSON.stringify({ value: 'a-value-of-mallory' });
    const json = { ...headers, 'content-type': 'application/json' };
    await fetch(`${stage.origin}/lango/secrets/of-mallory`, { method: 'PUT', headers: json, body: sent });
    const page = await stage.signedInWith(alices);
    await page.goto(`${stage.origin}/console/#/data`);
    await page.getByText('Names of secrets').waitFor();

    await using other = await Stranger.open();
    other.answer = (_, response) =>
      give(response, `<script>document.cookie = '${cookie}; Path=/lango'</script>tossed`, 'text/html');
    const tossing = await page.context().newPage();
    await tossing.goto(other.url);
    await tossing.getByText('tossed').waitFor();
    expect((await page.context().cookies(`${stage.origin}/lango/`)).map(({ path }) => path)).toContain(
      '/lango',
    );
    await page.reload();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await page.content()).not.toContain('of-mallory');
  });

  it('shows the cost of each owner', async () => {
    const bob = await stage.signedInWith(await issuer.token({ sub: 'bob' }));
    await bob.goto(`${stage.origin}/console/#/chat`);
    await say(bob, 'hello from bob');
    await bob.getByText('Hello, you.').waitFor();
    await bob.goto(`${stage.origin}/console/#/bill`);
    expect(await bob.getByLabel('By').locator('option').allInnerTexts()).not.toContain('owner');

    const page = await stage.signedInWith(await issuer.token({ sub: 'root', scope: 'lango:operator' }));
    await page.goto(`${stage.origin}/console/#/bill`);
    await page.getByLabel('By').selectOption('owner');
    const rows = page.getByRole('rowheader');
    await rows.filter({ hasText: 'user:bob' }).waitFor();
    expect(await rows.allInnerTexts()).toEqual(['user:bob', 'user:alice', 'in all']);
  });
});
