import { afterAll } from '@jest/globals';
import { WRITTEN_ARGUMENTS } from './cases/written-arguments.js';
import { closeMcpServers } from './mcp-tools.js';
import { describeQuirks } from './quirk.js';

describeQuirks('the forms of calls', WRITTEN_ARGUMENTS);

afterAll(closeMcpServers);
