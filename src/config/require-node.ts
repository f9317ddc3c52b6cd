import { oldNodeText } from './supported-node.js';

/**
 * The first import of the library: on a Node that is too old it throws, before a native module is loaded and crashes. The
 * imports of all other modules must be found on Node 20, or it never runs.
 */
const problem = oldNodeText();
if (problem !== undefined) throw new Error(`${problem}.`);
