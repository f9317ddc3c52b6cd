import { openSqliteStores } from '../../lab/all-stores.js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { readEnv } from '../../src/config/env.js';
import { resolveConfig } from '../../src/config/load.js';
import { silentLogger } from '../../src/core/logger.js';
import { textOf } from '../../src/core/message.js';
import { answerText } from '../../src/core/model.js';
import type { ModelEvent, ModelProvider, ModelRequest } from '../../src/core/model.js';
import { createHttpEmbeddings } from '../../src/capabilities/knowledge/embeddings/http.js';
import type { ServerOptions } from '../../src/index.js';
import { langoHere } from '../cli/lango-here.js';
import { makeHome } from '../cli/lango-process.js';
import type { Home } from '../cli/lango-process.js';
import type { EmbeddingServer } from '../support/embedding-server.js';
import { startEmbeddingServer } from '../support/embedding-server.js';
import { call, say } from '../support/scripted-model.js';
import { sendText, withServer } from '../support/server.js';

/** A question over `test/retrieval/documents`, with the document and the heading that answer it. */
interface Question {
  readonly kind: string;
  readonly text: string;
  readonly finds: readonly [document: string, heading: string];
}

/** Whether the answer of each question was among the first five results, by kind. */
type Recall = ReadonlyMap<Question, boolean>;

const FOLDER = path.resolve('test/retrieval/documents');
const MOST = 5;
const MODEL = 'small';

/** A model that passes each message to one tool unchanged, and returns its result. */
class Passing implements ModelProvider {
  readonly id = 'passing';
  readonly #tool: string;

  constructor(tool: string) {
    this.#tool = tool;
  }

  async *stream({ messages }: ModelRequest): AsyncIterable<ModelEvent> {
    await Promise.resolve();
    const last = messages.at(-1)!;
    const isDone = last.role === 'results';
    const query = last.role === 'user' ? textOf(last.parts) : '';
    const answer = isDone ? say(last.results[0]!.content) : call([this.#tool, { query, limit: MOST }]);
    yield { type: 'text', text: answerText(answer.content) };
    yield { type: 'end', answer };
  }
}

describe('B4 the search for questions with known answers', () => {
  let embeddings: EmbeddingServer;
  let home: Home;
  let questions: readonly Question[];
  const found: Record<'words' | 'vectors' | 'both', Recall> = {
    words: new Map(),
    vectors: new Map(),
    both: new Map(),
  };

  beforeAll(async () => {
    embeddings = await startEmbeddingServer();
    const embedding = `{ provider: openai, model: ${MODEL}, baseUrl: "${embeddings.baseUrl}" }`;
    home = await makeHome(`embedding: ${embedding}\ntools: { exec: { enabled: false } }`);
    questions = JSON.parse(await readFile('test/retrieval/questions.json', 'utf8')) as readonly Question[];
    const { stdout, stderr } = await langoHere(['ingest', FOLDER, '--json'], home);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({ added: 12, skipped: [], embedded: 51 });
    const settings = { provider: 'openai' as const, model: MODEL, baseUrl: embeddings.baseUrl };
    found.words = await asked('search_knowledge', {});
    found.both = await asked('rag_retrieve', { embedding: settings });
    found.vectors = await askedOfVectors();
    console.log(table(questions, found));
  }, 180_000);

  afterAll(async () => {
    await home.remove();
    await embeddings.close();
  });

  it('finds nearly all by words that occur in the answer, in every script and spelling', () => {
    for (const kind of ['same words', 'Korean', 'Chinese', 'accents', 'code']) {
      expect(recall(found.words, kind)).toBeGreaterThanOrEqual(0.8);
    }
    expect(recall(found.words)).toBeGreaterThanOrEqual(0.65);
  });

  it('finds by vectors the answers in other words, or in another language', () => {
    expect(recall(found.vectors, 'other words')).toBeGreaterThan(recall(found.words, 'other words'));
    expect(recall(found.vectors, 'across languages')).toBeGreaterThan(
      recall(found.words, 'across languages'),
    );
    expect(recall(found.vectors)).toBeGreaterThanOrEqual(0.85);
  });

  it('finds more by words and vectors than by either', () => {
    expect(recall(found.both)).toBeGreaterThanOrEqual(Math.max(recall(found.words), recall(found.vectors)));
    expect(recall(found.both)).toBeGreaterThanOrEqual(0.9);
  });

  async function asked(tool: string, own: ServerOptions['settings']): Promise<Recall> {
    const settings = {
      server: { port: 0 },
      agent: { multiAgent: false },
      tools: { search: { enabled: true } },
      ...own,
    };
    const answers = new Map<Question, boolean>();
    await withServer({ home: home.folder, settings, model: new Passing(tool) }, async (server) => {
      for (const question of questions) {
        const { end } = await sendText(server, question.text);
        const cited = end.text.split('\n').filter((line) => /^\d+\. /.test(line));
        expect(cited.length).toBeLessThanOrEqual(MOST);
        answers.set(
          question,
          cited.some((line) => cites(line, question)),
        );
      }
    });
    return answers;
  }

  /** No tool searches by vectors alone, so this queries the store. */
  async function askedOfVectors(): Promise<Recall> {
    const loaded = resolveConfig({ env: readEnv({}), overrides: { home: home.folder }, settings: {} });
    const storage = openSqliteStores({ ...loaded.config.storage.sqlite, logger: silentLogger });
    const provider = createHttpEmbeddings({
      ...{
        vendor: 'openai',
        model: MODEL,
        baseUrl: embeddings.baseUrl,
        maxRetries: 0,
        fetch,
        logger: silentLogger,
      },
    });
    const answers = new Map<Question, boolean>();
    for (const question of questions) {
      const [vector] = await provider.embed([question.text], {
        purpose: 'query',
        signal: new AbortController().signal,
      });
      const near = { vector: vector!, model: provider.id, limit: MOST };
      const hits = await storage.library.findNear({ tenant: '', owner: 'default' }, near);
      const [document, heading] = question.finds;
      answers.set(
        question,
        hits.some((hit) => hit.name === `documents/${document}` && (hit.heading.at(-1) ?? '') === heading),
      );
    }
    await storage.close();
    return answers;
  }
});

/** `1. documents/people.md:5-7 (People > Sick leave) [...]` */
function cites(line: string, { finds: [document, heading] }: Question): boolean {
  return line.includes(`documents/${document}:`) && (heading === '' || line.includes(`> ${heading})`));
}

function recall(found: Recall, kind?: string): number {
  const answers = [...found].filter(([question]) => kind === undefined || question.kind === kind);
  return answers.filter(([, isFound]) => isFound).length / answers.length;
}

function table(questions: readonly Question[], found: Readonly<Record<string, Recall>>): string {
  const kinds = [...new Set(questions.map(({ kind }) => kind)), undefined];
  const rows = kinds.map((kind) => {
    const cells = Object.values(found).map((each) => recall(each, kind).toFixed(2).padStart(9));
    return `${(kind ?? 'all').padEnd(18)}${cells.join('')}`;
  });
  const missed = Object.entries(found).map(([way, each]) => {
    const texts = [...each].filter(([, isFound]) => !isFound).map(([{ text }]) => `"${text}"`);
    return `not by ${way}: ${texts.join(', ') || 'nothing'}`;
  });
  const head =
    `recall at ${MOST}`.padEnd(18) +
    Object.keys(found)
      .map((way) => way.padStart(9))
      .join('');
  return [head, ...rows, ...missed].join('\n');
}
