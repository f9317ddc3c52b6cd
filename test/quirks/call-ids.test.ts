import { CALL_IDS } from './cases/call-ids.js';
import { describeQuirks } from './quirk.js';

describeQuirks('the ids and names of calls', CALL_IDS);
