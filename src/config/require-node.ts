import { oldNodeText } from './supported-node.js';

/**
 * The first import of the library. Throws on a Node that is too old, before a native module is loaded and crashes. Node
 * resolves the imports of all modules before it runs this one, so each name that they import must exist in Node 20.
 */
const problem = oldNodeText();
if (problem !== undefined) throw new Error(`${problem}.`);
