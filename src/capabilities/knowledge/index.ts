import { defineCapability, type SecretVariable, type SentenceRow } from '../../core/capability.js';
import type { Command, CommandOption } from '../../core/command.js';
import { lazyOwnedData } from '../../core/page.js';
import type { OpenKnowledge } from './opening.js';
import { KNOWLEDGE_OPERATIONS } from './operations.js';
import { KNOWLEDGE_RULES, KNOWLEDGE_SETTINGS } from './settings.js';
import { KNOWLEDGE_TABLES } from './sql/tables.js';

const COLLECTION: CommandOption = {
  flags: '--collection <name>',
  description: 'the collection of documents; default: documents',
};

const loadCommands = () => import('./commands.js');

const COMMANDS: readonly Command[] = [
  {
    usage: 'ingest [path...]',
    description: 'add documents, so that agents find them; unchanged files are skipped',
    arguments: { path: 'files, folders, and patterns such as "docs/**/*.md"' },
    options: [
      COLLECTION,
      {
        flags: '--reembed',
        description: 'compute all vectors again, after a change of the embedding model',
      },
    ],
    works: 'server',
    run: async (call, paths) => (await loadCommands()).ingest(call, paths),
  },
  {
    usage: 'ingest list',
    description: 'list the documents; default: of all collections',
    options: [COLLECTION],
    works: 'server',
    run: async (call) => (await loadCommands()).listDocuments(call),
  },
  {
    usage: 'ingest remove [path...]',
    description: 'remove documents',
    arguments: { path: 'files or folders that were added' },
    options: [COLLECTION, { flags: '--all', description: 'every document of the collection' }],
    works: 'server',
    run: async (call, paths) => (await loadCommands()).removeDocuments(call, paths),
  },
];

const DEPENDS_ON = { predicate: 'depends on' };

const SENTENCES: readonly SentenceRow[] = [
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

/** The member of the group that a variable of OpenAI fills. */
const forOpenAi = (member: string): Omit<SecretVariable, 'name'> => ({
  path: ['embedding', member],
  applies: ({ provider }) => provider === 'openai',
});

/** The knowledge of agents: documents, saved knowledge, learnings and facts, a graph of triples, and the search in all of it. */
export const knowledge = defineCapability({
  name: 'knowledge',
  settings: KNOWLEDGE_SETTINGS,
  rules: KNOWLEDGE_RULES,
  variables: [
    { ...forOpenAi('apiKey'), name: 'OPENAI_API_KEY' },
    { ...forOpenAi('baseUrl'), name: 'OPENAI_API_BASE' },
    { ...forOpenAi('baseUrl'), name: 'OPENAI_BASE_URL' },
    {
      name: 'VOYAGE_API_KEY',
      description: 'The API key of the embedding provider `voyage`, if the file has no `embedding.apiKey`.',
      path: ['embedding', 'apiKey'],
      applies: ({ provider }) => provider === 'voyage',
    },
  ],
  tables: KNOWLEDGE_TABLES,
  operations: KNOWLEDGE_OPERATIONS,
  keeps: { documents: { what: 'the documents that owners ingest' } },
  sentences: SENTENCES,
  forgets: { knowledge: 'knowledge', learning: 'learnings', fact: 'facts' },
  commands: COMMANDS,
  open(context) {
    let opened: Promise<OpenKnowledge> | undefined;
    const open = () =>
      (opened ??= import('./opening.js').then(({ openKnowledge }) => openKnowledge(context)));
    const documents = async () => (await open()).documents();
    return {
      ownedData: lazyOwnedData(
        { knowledge: true, learnings: true, facts: true, documents: false, graph: false },
        async () => (await open()).ownedData,
      ),
      bodyBytes: context.settings.ingest.maxFileBytes,
      operations: {
        listDocuments: async (input, call) => (await documents()).listDocuments(input, call),
        submitDocument: async (input, call) => (await documents()).submitDocument(input, call),
        removeDocuments: async (input, call) => (await documents()).removeDocuments(input, call),
        updateVectors: async (input, call) => (await documents()).updateVectors(input, call),
      },
      families: async () => (await open()).families(),
      close: async () => (await opened)?.close(),
    };
  },
});
