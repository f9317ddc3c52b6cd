import { afterAll, beforeAll, expect, it } from '@jest/globals';
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

    const page = await stage.signedInWith(await issuer.token({ sub: 'root', scope: 'lango:operator' }));
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
    await page.getByText('There are no such tasks').waitFor();
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
