import { CONTEXT_WINDOW } from './cases/context-window.js';
import { describeQuirks } from './quirk.js';

describeQuirks('the context window of a model', CONTEXT_WINDOW);
