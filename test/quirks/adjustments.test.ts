import { ADJUSTMENTS } from './cases/adjustments.js';
import { describeQuirks } from './quirk.js';

describeQuirks('a part of a request that a server refuses', ADJUSTMENTS);
