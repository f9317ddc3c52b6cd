import { OVERLOAD } from './cases/overload.js';
import { describeQuirks } from './quirk.js';

describeQuirks('an overload of a model', OVERLOAD);
