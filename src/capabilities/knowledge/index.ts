import { defineCapability } from '../../core/capability.js';
import { lazyOwnedData } from '../../core/page.js';
import { KNOWLEDGE_COMMANDS } from './command-list.js';
import type { OpenKnowledge } from './opening.js';
import { KNOWLEDGE_OPERATIONS } from './operations.js';
import { KNOWLEDGE_RULES } from './rules.js';
import { KNOWLEDGE_SENTENCES } from './sentences.js';
import { KNOWLEDGE_SETTINGS } from './settings.js';
import { KNOWLEDGE_TABLES } from './sql/tables.js';
import { AGENT_COLLECTIONS } from './stores/library.js';

const DOCUMENTS_PER_PAGE = 500;

/** What agents know: documents, saved knowledge, learnings and facts, a graph of triples, and the search in all of it. */
export const knowledge = defineCapability({
  name: 'knowledge',
  settings: KNOWLEDGE_SETTINGS,
  rules: KNOWLEDGE_RULES,
  variables: [
    {
      name: 'OPENAI_API_KEY',
      path: ['embedding', 'apiKey'],
      applies: ({ provider }) => provider === 'openai',
    },
    {
      name: 'VOYAGE_API_KEY',
      description: 'The API key of the embedding provider `voyage`, if the file has no `embedding.apiKey`.',
      path: ['embedding', 'apiKey'],
      applies: ({ provider }) => provider === 'voyage',
    },
  ],
  tables: KNOWLEDGE_TABLES,
  operations: KNOWLEDGE_OPERATIONS,
  sentences: KNOWLEDGE_SENTENCES,
  forgets: { knowledge: 'knowledge', learning: 'learnings', fact: 'facts' },
  commands: KNOWLEDGE_COMMANDS,
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
        async listDocuments({ collection: only, after }, { scope }) {
          const index = await documents();
          const page = await index.list(scope, {
            ...(only === undefined ? { except: AGENT_COLLECTIONS } : { only }),
            after,
            limit: DOCUMENTS_PER_PAGE,
          });
          return { ...page, maxBytes: index.maxBytes };
        },
        submitDocument: async (file, { scope, signal }) => (await documents()).submit(scope, file, signal),
        async removeDocuments({ collection, all, origins }, { scope }) {
          return { removed: await (await documents()).remove(scope, collection, all ? undefined : origins) };
        },
        async updateVectors({ action, collections: only }, { scope, signal }) {
          const index = await documents();
          if (action === 'embed') return index.embed(scope, signal);
          return { dropped: await index.dropVectors(scope, { only }) };
        },
      },
      families: async () => (await open()).families(),
      close: async () => (await opened)?.close(),
    };
  },
});
