import { REFUSAL_FALLBACKS, REFUSALS } from './cases/refusals.js';
import { describeQuirks } from './quirk.js';

describeQuirks('a refusal', [...REFUSALS, ...REFUSAL_FALLBACKS]);
