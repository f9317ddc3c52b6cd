import { afterAll } from '@jest/globals';
import { MCP_ARGUMENTS } from './cases/mcp-arguments.js';
import { closeMcpServers } from './mcp-tools.js';
import { describeQuirks } from './quirk.js';

describeQuirks('the arguments of MCP tools', MCP_ARGUMENTS);

afterAll(closeMcpServers);
