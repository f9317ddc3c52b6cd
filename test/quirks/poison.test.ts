import { FOREIGN_MEMBERS, POISON } from './cases/poison.js';
import { describeQuirks } from './quirk.js';

describeQuirks('what ends a conversation for good', [...FOREIGN_MEMBERS, ...POISON]);
