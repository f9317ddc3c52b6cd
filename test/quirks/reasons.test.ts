import { CODES_BEFORE_STATUS, REASONS, WAITS } from './cases/reasons.js';
import { describeQuirks } from './quirk.js';

describeQuirks('the reason of an error', [...REASONS, ...CODES_BEFORE_STATUS, ...WAITS]);
