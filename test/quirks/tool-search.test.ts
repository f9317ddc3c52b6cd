import { afterAll } from '@jest/globals';
import { TOOL_SEARCH } from './cases/tool-search.js';
import { closeMcpServers } from './mcp-tools.js';
import { describeQuirks } from './quirk.js';

describeQuirks('the search for tools', TOOL_SEARCH);

afterAll(closeMcpServers);
