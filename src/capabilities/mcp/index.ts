import { defineCapability, type CapabilityContext } from '../../core/capability.js';
import { unsafeIssuer } from '../../core/oauth2-fields.js';
import { offer } from '../../core/service.js';
import { missing, off, type ToolFamily } from '../../core/tool-family.js';
import { SIGN_OUT } from '../../core/vault.js';
import { isInstalled } from '../../disk/programs.js';
import { MCP_COMMANDS } from './command-list.js';
import { MCP_SETTINGS, MISSING, PACKAGE } from './settings.js';

type Context = CapabilityContext<typeof MCP_SETTINGS>;

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
  commands: MCP_COMMANDS,
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
