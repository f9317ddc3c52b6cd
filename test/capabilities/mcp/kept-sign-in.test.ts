import { afterEach, describe, expect, it } from '@jest/globals';
import { signedInFetch } from '../../../src/capabilities/mcp/kept-sign-in.js';
import { offer, ServiceRegistry } from '../../../src/core/service.js';
import { VAULT } from '../../../src/core/vault.js';
import { openLoginServer, type LoginServer } from '../../support/login-server.js';
import { openTestVault } from '../../support/open-vault.js';
import { RecordingServer } from '../../support/token-server.js';

/** Sign-ins at an MCP server: how they are stored, renewed and used. */

describe('a sign-in that several processes use', () => {
  const scope = { tenant: '', owner: 'ann' };
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });

  async function processes(far: LoginServer, { expiresIn = 1 } = {}) {
    const opened = await openTestVault();
    const { vault, secrets } = opened;
    closers.push(() => opened.close());
    const code = await fetch(`${far.issuer.url}/register`, { method: 'POST', body: '{}' });
    const { client_id: clientId } = (await code.json()) as { client_id: string };
    const device = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', client_id: clientId };
    const body = () => new URLSearchParams({ ...device, resource: far.url });
    await fetch(`${far.issuer.url}/token`, { method: 'POST', body: body() });
    const tokens = (await (
      await fetch(`${far.issuer.url}/token`, { method: 'POST', body: body() })
    ).json()) as {
      access_token: string;
      refresh_token: string;
    };
    const kept = {
      ...{ url: far.url, resource: far.url, issuer: far.issuer.url, endpoint: `${far.issuer.url}/token` },
      revocation: `${far.issuer.url}/revoke`,
      ...{
        clientId,
        authMethod: 'none',
        accessToken: tokens.access_token,
        refreshToken: tokens.refresh_token,
      },
      expiresAt: Date.now() + expiresIn * 1_000,
    };
    const store = (value: object) =>
      secrets.store(scope, {
        ...{ name: 'mcp.docs', value: JSON.stringify(value), places: [], hosts: [], replace: true },
      });
    await store(kept);
    const options = {
      ...{
        name: 'docs',
        url: far.url,
        issuer: far.issuer.url,
        tokenUrl: undefined,
        authorizationUrl: undefined,
        clientId: undefined,
      },
      ...{ clientSecret: undefined, scopes: [], furtherScopes: [], fetch },
    };
    const services = new ServiceRegistry();
    services.add(offer(VAULT, async () => ({ vault, secrets })));
    const one = (more: object = {}) =>
      signedInFetch({ options: { ...options, ...more }, services, scope }, fetch);
    return { one, secrets, kept, store };
  }

  it('is renewed by one of them, so a single-use refresh token is used once', async () => {
    await using far = await openLoginServer();
    const { one } = await processes(far);
    const ping = { method: 'POST', body: '{}' };
    const answers = await Promise.all([one(), one(), one()].map((send) => send(far.url, ping)));
    expect(answers.map(({ status }) => status)).not.toContain(401);
    expect(far.grants('refresh_token')).toHaveLength(1);
  });

  it('is not restored by a renewal that was under way at the logout', async () => {
    await using far = await openLoginServer();
    const { one, secrets } = await processes(far);
    far.misbehavior = {
      answer: ({ url }) => {
        if (url === '/token') void secrets.delete(scope, 'mcp.docs');
        return false;
      },
    };
    await expect(one()(far.url)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await secrets.list(scope)).toEqual([]);
    expect(far.issuer.received.filter(({ url }) => url === '/revoke')).toHaveLength(2);
  });

  it('is replaced by a new sign-in of the person during a renewal', async () => {
    await using far = await openLoginServer();
    const { one, kept, store } = await processes(far);
    const again = await processes(far, { expiresIn: 300 });
    far.misbehavior = {
      answer: ({ url, body }) => {
        if (url === '/token' && body.includes('refresh_token')) void store(again.kept);
        return false;
      },
    };
    expect(await one()(far.url, { method: 'POST', body: '{}' })).not.toMatchObject({ status: 401 });
    expect(far.mcp.received.at(-1)!.headers.authorization).toBe(`Bearer ${again.kept.accessToken}`);
    expect(kept.accessToken).not.toBe(again.kept.accessToken);
  });

  it.each([
    ['docs:write docs:more', 'Run: lango mcp login docs --scope "docs:write docs:more"'],
    ['a $(reboot)', undefined],
  ])('fails with the command to get the scope %s when it lacks it', async (scope, hint) => {
    await using far = await openLoginServer();
    const { one } = await processes(far, { expiresIn: 300 });
    const challenge = `Bearer error="insufficient_scope", scope="${scope}"`;
    far.mcp.answer = (_, response) => void response.writeHead(403, { 'www-authenticate': challenge }).end();
    const error: unknown = await one()(far.url).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'forbidden', message: expect.stringContaining(scope) });
    expect((error as { hint?: string }).hint).toBe(hint);
  });

  it('is sent to its own origin, server and issuer only', async () => {
    await using far = await openLoginServer();
    await using other = await RecordingServer.open();
    const { one } = await processes(far, { expiresIn: 300 });
    await expect(one()(`${other.url}/mcp`)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(one({ url: `${other.url}/mcp` })(`${other.url}/mcp`)).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await expect(one({ issuer: other.url })(far.url)).rejects.toMatchObject({ code: 'unauthenticated' });
    far.mcp.answer = (_, response) => void response.writeHead(307, { location: `${other.url}/mcp` }).end();
    await expect(one()(far.url)).rejects.toThrow();
    expect(other.received).toEqual([]);
  });
});

/** Issuers and servers that lie. `other` is an address that must get nothing. */
