import { GOOD_ENDS } from './cases/good-ends.js';
import { describeQuirks } from './quirk.js';

describeQuirks('an end that is known', GOOD_ENDS);
