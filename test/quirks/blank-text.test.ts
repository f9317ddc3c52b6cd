import { BLANK_TEXT } from './cases/blank-text.js';
import { describeQuirks } from './quirk.js';

describeQuirks('a blank text of a model', BLANK_TEXT);
