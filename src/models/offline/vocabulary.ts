import { stem } from './words.js';

/** Words of an example that a sentence may leave out. No nouns: "create a file" is not "create a folder". */
export const ARTICLES: ReadonlySet<string> = stems('please kindly just the a an');

/** Words of a sentence that are passed over where an example does not have them. */
export const FILLERS: ReadonlySet<string> = new Set([
  ...ARTICLES,
  ...stems(
    'this that some my our your its me of all any everything anything file files folder folders directory directories named called ' +
      'content contents text new',
  ),
]);

/** Words that may also stand before the first word of an example: "could you", "and now", "I would like you to". */
export const OPENERS: ReadonlySet<string> = stems(
  "can could would will you i i'd want need like to us let let's lets now also next first finally lastly go ahead " +
    'and then ok okay hey so well lango tell',
);

/** Words that may also stand after the last word of an example. */
export const CLOSERS: ReadonlySet<string> = stems('for me now too again today there');

/** Words that tell nothing about what a sentence is about. */
export const STOP_WORDS: ReadonlySet<string> = new Set([
  ...FILLERS,
  ...OPENERS,
  ...CLOSERS,
  ...stems(
    "is are was were be been am do does did has have had what what's which who whom when where why how in on at by " +
      'with from as or not no yes it they them these those he she we there here about into if than tell give get',
  ),
]);

function stems(words: string): ReadonlySet<string> {
  return new Set(words.split(' ').map(stem));
}
