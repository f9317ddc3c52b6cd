import type { SettingsContext } from '../../core/capability.js';
import type { Command } from '../../core/command.js';
import type { MCP_SETTINGS } from './settings.js';

const load = () => import('./commands.js');
const loadLogin = () => import('./login-commands.js');

/** `lango mcp` */
export const MCP_COMMANDS: readonly Command<SettingsContext<typeof MCP_SETTINGS>>[] = [
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
