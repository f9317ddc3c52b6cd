import { HALF_CHARACTERS } from './cases/half-characters.js';
import { describeQuirks } from './quirk.js';

describeQuirks('half of a character', HALF_CHARACTERS);
