import type { SentenceRow } from '../../core/capability.js';

const DEPENDS_ON = { predicate: 'depends on' };

/** The sentences that the offline model understands. */
export const KNOWLEDGE_SENTENCES: readonly SentenceRow[] = [
  ['save knowledge {key}: {content...}', 'save_knowledge'],
  ['what do you know about {query...}?', 'search_knowledge'],
  ['search the knowledge for {query...}', 'search_knowledge'],
  ['save learning {trigger}: {fix...}', 'save_learning'],
  ['what did you learn about {query...}?', 'search_learnings'],
  ['search the web for {query...}', 'search_web'],
  ['retrieve passages about {query...}', 'rag_retrieve'],
  ['add to the graph that {subject} depends on {object...}', 'graph_add', DEPENDS_ON],
  ['what depends on {object...}?', 'graph_query', DEPENDS_ON],
  ['what is connected to {start...}?', 'graph_traverse'],
  ['remove from the graph that {subject} depends on {object...}', 'graph_remove', DEPENDS_ON],
  ['remember that {fact...}', 'memory_store'],
  ['remember: {fact...}', 'memory_store'],
  ['what do you remember about {query...}?', 'memory_recall'],
  ['recall {query...}', 'memory_recall'],
  ['forget that {fact...}', 'memory_forget'],
  ['forget what you remember about {query...}', 'memory_forget'],
];
