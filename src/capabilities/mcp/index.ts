import { defineCapability, type CapabilityContext, type SettingsContext } from '../../core/capability.js';
import type { Command } from '../../core/command.js';
import { unsafeIssuer } from '../../core/oauth2-fields.js';
import { offer } from '../../core/service.js';
import { missing, off, type ToolFamily } from '../../core/tool-family.js';
import { SIGN_OUT } from '../../core/vault.js';
import { isInstalled } from '../../disk/programs.js';
import { MCP_SETTINGS, MISSING, PACKAGE } from './settings.js';

type Context = CapabilityContext<typeof MCP_SETTINGS>;

const load = () => import('./commands.js');
const loadLogin = () => import('./login-commands.js');

/** `lango mcp` */
const COMMANDS: readonly Command<SettingsContext<typeof MCP_SETTINGS>>[] = [
  {
    usage: 'mcp list',
    description: 'ask each server for its tools',
    works: 'server',
    run: async (call) => (await load()).listServers(call),
  },
  {
    usage: 'mcp try <name> <tool...>',
    description: 'call a tool, by the name that its server gives it; its arguments follow as one JSON object',
    works: 'folder',
    run: async (call, name, tool) => (await load()).tryTool(call, name, tool),
  },
  {
    usage: 'mcp accept <name>',
    description: 'accept the tools that the server changed',
    works: 'folder',
    run: async (call, name) => (await load()).acceptTools(call, name),
  },
  {
    usage: 'mcp login <name>',
    description: 'sign in at a server, for yourself; the tokens are kept in the vault',
    options: [
      { flags: '--device', description: 'by a code that you type on another device' },
      { flags: '--no-browser', description: 'show the address and open no browser' },
      { flags: '--scope <scopes>', description: 'scopes to ask for in addition, with spaces between them' },
    ],
    works: 'owner',
    run: async (call, name) => (await loadLogin()).login(call, name),
  },
  {
    usage: 'mcp logout <name>',
    description: 'forget your sign-in at a server',
    works: 'owner',
    run: async (call, name) => (await loadLogin()).logout(call, name),
  },
];

/** The tools of MCP servers. */
export const mcp = defineCapability({
  name: 'mcp',
  settings: MCP_SETTINGS,
  rules: [
    {
      keys: ['mcp.servers'],
      check: ({ 'mcp.servers': servers }) => ({
        findings: Object.entries(servers).flatMap(([name, { oauth2 }]) =>
          oauth2 ? unsafeIssuer(oauth2, ['mcp', 'servers', name, 'oauth2']) : [],
        ),
      }),
    },
    {
      keys: ['mcp.servers'],
      isForServersOnly: true,
      check: ({ 'mcp.servers': servers }) => ({
        sent: Object.entries(servers).flatMap(([name, { token, oauth2, headers, url }]) => {
          const isSecret = (token ?? oauth2?.clientId ?? Object.values(headers)[0]) !== undefined;
          return isSecret ? [{ path: ['mcp', 'servers', name, 'url'], url }] : [];
        }),
      }),
    },
  ],
  assigns: ({ 'mcp.servers': servers }) =>
    Object.entries(servers).map(([name, { agent }]) => ({
      prefix: `mcp_${name}_`,
      agent,
      path: ['mcp', 'servers', name, 'agent'],
    })),
  commands: COMMANDS,
  open: (context) => ({
    offers: [
      offer(SIGN_OUT, async (secretName, value) => {
        const { signOut } = await import('./opening.js');
        return signOut(context, secretName, value);
      }),
    ],
    families: async () => [await openFamily(context)],
  }),
  trialSettings: () => ({ 'mcp.servers': {} }),
  /** Reaches each server and reads its tools. Where people sign in, says whether this person is signed in. */
  async diagnose(context) {
    const servers = Object.entries(context.settings['mcp.servers']);
    if (servers.length === 0) return [];
    const { diagnoseServers } = await import('./commands.js');
    return diagnoseServers(context);
  },
});

const NAME = 'mcp';

/** Reaches the configured servers in the background: a server that is away does not delay the start. */
async function openFamily(context: Context): Promise<ToolFamily> {
  if (Object.keys(context.settings['mcp.servers']).length === 0)
    return { ...off(NAME), note: 'no server is named', hint: 'Name servers in mcp.servers.' };
  if (!isInstalled(PACKAGE)) return missing(NAME, MISSING);
  const { openServersHere } = await import('./opening.js');
  const open = openServersHere(context);
  for (const server of open.servers.values()) void server.start();
  return {
    name: NAME,
    state: 'on',
    tools: [],
    sources: open.sources,
    get findings() {
      return open.findings();
    },
    close: () => open[Symbol.asyncDispose](),
  };
}
