import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { JsonObject } from '../../src/core/json.js';
import type { SettingsInput } from '../../src/config/schema.js';
import { langoHere } from '../cli/lango-here.js';
import { makeHome } from '../cli/lango-process.js';
import { Obedient } from '../support/obedient-model.js';
import { decide, sendText, startServer, type TestServer } from '../support/server.js';

/** The scenario that the conformance tool gives to a client. */
export interface Scenario {
  readonly url: string;
  readonly scenario: string;
  readonly context: {
    readonly client_id?: string;
    readonly client_secret?: string;
    readonly private_key_pem?: string;
    readonly toolCalls?: readonly { readonly name: string; readonly arguments: JsonObject }[];
  };
}

type ServerEntry = NonNullable<NonNullable<SettingsInput['mcp']>['servers']>[string];

const OAUTH2 = /^auth\/client-credentials-/;
const CLIENT_DOCUMENT = 'https://conformance-test.local/client-metadata.json';
const ARGUMENTS: Readonly<Record<string, JsonObject>> = {
  add_numbers: { a: 1, b: 2 },
  valid_tool: { region: 'north' },
};
const MOST_LOGINS = 3;

/**
 * A person with a server of Lango and the scenario's server as its MCP server `far`: signs in where needed, lets the
 * operator call each tool, and approves questions. Never rejects: resolves with the operator's text.
 */
export async function useServer({
  url,
  scenario,
  context,
}: Scenario): Promise<{ failed: boolean; words: string }> {
  const home = await makeHome();
  const said: string[] = [];
  const model = new Obedient();
  const { client_id: clientId, client_secret: clientSecret } = context;
  const keyFile = path.join(home.folder, 'key.pem');
  if (context.private_key_pem) await writeFile(keyFile, context.private_key_pem, { mode: 0o600 });
  const known = { ...(clientId && { clientId }), ...(clientSecret && { clientSecret }) };
  let entry: ServerEntry = { url, approval: 'never' };
  if (OAUTH2.test(scenario)) {
    const key = context.private_key_pem ? { privateKeyFile: keyFile } : { clientSecret };
    entry = { ...entry, oauth2: { issuer: await issuerOf(url), clientId: clientId!, ...key } };
  } else if (scenario.startsWith('auth/'))
    entry = { ...entry, login: scenario === 'auth/basic-cimd' ? { clientId: CLIENT_DOCUMENT } : known };

  /** Signs in like a person: the message of a refusal names the setting to add. */
  const login = async (env: Record<string, string>, ...flags: string[]): Promise<boolean> => {
    for (let tries = 0; tries < 2; tries += 1) {
      await writeFile(
        path.join(home.folder, 'config.yaml'),
        JSON.stringify({ mcp: { servers: { far: entry } } }),
        {
          mode: 0o600,
        },
      );
      const done = await langoHere(['mcp', 'login', 'far', '--no-browser', ...flags], {
        env,
        onNote: (note) => {
          const page = /Sign in here:\n(\S+)/.exec(note)?.[1];
          if (page) void fetch(page).catch(() => undefined);
        },
      });
      said.push(done.stdout, done.stderr);
      if (done.code === 0) return true;
      const issuer = /names the issuer (\S+), (which has no https|and not)/.exec(done.stderr)?.[1];
      if (!issuer) return false;
      entry = { ...entry, login: { ...entry.login, issuer } };
    }
    return false;
  };

  let server: TestServer | undefined;
  try {
    const settings = (): SettingsInput => ({ server: { port: 0 }, mcp: { servers: { far: entry } } });
    server = await startServer({ home: home.folder, model, settings: settings() });
    const env = { ...home.env, LANGO_URL: server.address.origin };
    if (entry.login && !(await login(env))) throw new Error('nobody was signed in');
    if (entry.login) {
      await server.stop();
      server = await startServer({ home: home.folder, model, settings: settings() });
      env.LANGO_URL = server.address.origin;
    }
    for (let logins = 1; ; logins += 1) {
      const ends = await callAll(server, model, context);
      said.push(...ends);
      const wants = ends.find((text) => text.includes('lango mcp login far'));
      const scope = /--scope "(.+)"/.exec(wants ?? '')?.[1];
      const flags = scope ? ['--scope', scope] : [];
      if (!wants || !entry.login || logins === MOST_LOGINS || !(await login(env, ...flags))) break;
    }
    return { failed: false, words: said.join('\n') };
  } catch (error) {
    return { failed: true, words: [...said, String(error)].join('\n') };
  } finally {
    await server?.stop();
    await home.remove();
  }
}

/** Calls each tool of the server. Returns the operator's text. */
async function callAll(server: TestServer, model: Obedient, { toolCalls }: Scenario['context']) {
  for (let tries = 0; tries < 5; tries += 1) {
    await sendText(server, 'hello', { agent: 'operator' });
    if (model.offered().some((name) => name.startsWith('mcp_far_'))) break;
  }
  const offered = model.offered().filter((name) => name.startsWith('mcp_far_'));
  const calls = toolCalls?.map((call) => [`mcp_far_${call.name}`, call.arguments] as const);
  const ends: string[] = [`offered: ${offered.join()}`];
  for (const [tool, given] of calls ??
    offered.map((name) => [name, ARGUMENTS[name.slice(8)] ?? {}] as const)) {
    const present = Object.entries(given).filter(([, value]) => value !== null);
    let asked = await sendText(server, `${tool} ${JSON.stringify(Object.fromEntries(present))}`, {
      agent: 'operator',
    });
    if (asked.end.questions.length > 0)
      asked = await decide(server, asked, { decision: 'approve', text: '{}', agent: 'operator' });
    ends.push(asked.end.text);
  }
  return ends;
}

/** The issuer that the operator reads in the metadata of the server. */
async function issuerOf(url: string): Promise<string> {
  const answer = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', url));
  const { authorization_servers: issuers } = (await answer.json()) as { authorization_servers: string[] };
  return issuers[0]!;
}
