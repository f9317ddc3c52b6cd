import { SURROUNDINGS } from './cases/environment.js';
import { describeQuirks } from './quirk.js';

describeQuirks('the surroundings of a server', SURROUNDINGS);
