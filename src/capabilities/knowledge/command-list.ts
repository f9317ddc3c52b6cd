import type { Command, CommandOption } from '../../core/command.js';

const COLLECTION: CommandOption = {
  flags: '--collection <name>',
  description: 'the collection of documents; default: documents',
};

const load = () => import('./commands.js');

/** `lango ingest` */
export const KNOWLEDGE_COMMANDS: readonly Command[] = [
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
    run: async (call, paths) => (await load()).ingest(call, paths),
  },
  {
    usage: 'ingest list',
    description: 'list the documents; default: of all collections',
    options: [COLLECTION],
    works: 'server',
    run: async (call) => (await load()).listDocuments(call),
  },
  {
    usage: 'ingest remove [path...]',
    description: 'remove documents',
    arguments: { path: 'files or folders that were added' },
    options: [COLLECTION, { flags: '--all', description: 'every document of the collection' }],
    works: 'server',
    run: async (call, paths) => (await load()).removeDocuments(call, paths),
  },
];
