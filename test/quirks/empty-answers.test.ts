import { EMPTY_ANSWERS } from './cases/empty-answers.js';
import { describeQuirks } from './quirk.js';

describeQuirks('an answer without a word', EMPTY_ANSWERS);
