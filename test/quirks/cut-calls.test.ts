import { CUT_CALLS } from './cases/cut-calls.js';
import { describeQuirks } from './quirk.js';

describeQuirks('a call that was cut', CUT_CALLS);
