import { THOUGHTS } from './cases/thoughts.js';
import { describeQuirks } from './quirk.js';

describeQuirks('thoughts in tags', THOUGHTS);
