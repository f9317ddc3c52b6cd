import { REMOTE_AGENTS } from './cases/remote-agents.js';
import { describeQuirks } from './quirk.js';

describeQuirks('quirks of remote agents', REMOTE_AGENTS);
