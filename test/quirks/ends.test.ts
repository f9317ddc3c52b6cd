import { ENDS } from './cases/ends.js';
import { describeQuirks } from './quirk.js';

describeQuirks('the end of an output', ENDS);
