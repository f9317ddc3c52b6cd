import { afterAll } from '@jest/globals';
import { MCP_LISTS } from './cases/mcp-lists.js';
import { closeMcpServers } from './mcp-tools.js';
import { describeQuirks } from './quirk.js';

describeQuirks('the lists and results of MCP servers', MCP_LISTS);

afterAll(closeMcpServers);
