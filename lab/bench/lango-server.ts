import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Agent, ModelProvider, Run, ServerOptions } from '../../src/index.js';
import { createServer, fromAgentExecutor, textOf } from '../../src/index.js';
import { attend } from './child.js';
import { countStatements } from './statements.js';
import { executor } from './stock-executor.js';
import { ANSWER, eachChunk, parseWork } from './work.js';

const ARTIFACT = 'answer';
/** The load comes from one caller, so its rate limit is higher than the default. */
const LIMITS = {
  requestsPerSecond: 1_000_000,
  requestBurst: 1_000_000,
  streams: 2_000,
  streamsPerCaller: 2_000,
};
const SERVED = { server: { port: 0, limits: LIMITS } };
const FLAT = { ...SERVED, agent: { multiAgent: false } };
const CHARACTERS_PER_TOKEN = 4;
/** The function by which the memory asks for notes, and the response of the model. */
const NOTE = 'record_lines';
const NOTES = Array.from(
  { length: 8 },
  (_, index) => `what was said of matter ${index}, in about so many words`,
);

const worker: Agent = {
  profile: { name: 'bench', description: 'Does what the bench asks.', skills: [] },
  async run(run) {
    const work = parseWork(textOf(run.inputs.at(-1)!.message.parts));
    if (work.chunks === 0) run.emit(delta(ANSWER, 0));
    await eachChunk(work, (text, index) => deliver(run, work.kind, delta(text, index)));
    return { state: work.kind === 'ask' ? 'input-required' : 'completed' };
  },
};

function delta(text: string, index: number): Parameters<Run['emit']>[0] {
  return { type: 'text-delta', artifactId: ARTIFACT, text, replace: index === 0 };
}

function deliver(run: Run, kind: string, body: Parameters<Run['emit']>[0]): Promise<void> | void {
  return kind === 'append' ? run.append(body) : run.emit(body);
}

/** A model that responds at once, so that a turn costs only the work of the server. Reports how much text it got. */
const instantModel: ModelProvider = {
  id: 'instant',
  async *stream({ system, messages, functions }) {
    const input = Math.ceil(JSON.stringify([system, messages, functions]).length / CHARACTERS_PER_TOKEN);
    const usage = { input, output: 1, cached: 0 };
    if (functions.some(({ name }) => name === NOTE)) {
      const note = { type: 'function-call' as const, id: 'note', name: NOTE, arguments: { lines: NOTES } };
      yield { type: 'end', answer: { content: [note], stopReason: 'function-calls', usage } };
      return;
    }
    yield { type: 'text', text: ANSWER };
    yield { type: 'end', answer: { content: [{ type: 'text', text: ANSWER }], stopReason: 'end', usage } };
  },
};

/**
 * The default configuration except for the rate of one caller, with one more agent. The environment may name a
 * database.
 */
export function serve(): Promise<void> {
  return start({ settings: SERVED, agents: [worker] });
}

/** Lango with the executor of the stock server. */
export function serveExecutor(): Promise<void> {
  return start({
    settings: SERVED,
    agents: [fromAgentExecutor({ executor, profile: worker.profile })],
  });
}

/** One agent and a model that costs nothing: the cost of a turn is all Lango's. */
export function serveFlat(): Promise<void> {
  return start({ settings: FLAT, model: instantModel });
}

/** One agent, as in `serveFlat`, with observational memory. */
export function serveMemory(): Promise<void> {
  return start({ settings: { ...FLAT, observationalMemory: { enabled: true } }, model: instantModel });
}

async function start(options: ServerOptions): Promise<void> {
  const statements = countStatements();
  const home = await mkdtemp(path.join(tmpdir(), 'lango-bench-'));
  const server = createServer({ home, ...options });
  const { port } = await server.start();
  const stop = async () => {
    await server.stop();
    await rm(home, { recursive: true, force: true });
  };
  attend(port, stop, statements);
}
