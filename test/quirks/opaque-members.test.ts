import { OPAQUE_MEMBERS, OPAQUE_OVER_TASKS } from './cases/opaque-members.js';
import { describeQuirks } from './quirk.js';

describeQuirks('members that only their vendor understands', [...OPAQUE_MEMBERS, ...OPAQUE_OVER_TASKS]);
