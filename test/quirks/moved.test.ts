import { MOVED } from './cases/moved.js';
import { describeQuirks } from './quirk.js';

describeQuirks('a task that is moved between vendors', MOVED);
