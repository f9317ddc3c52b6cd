import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { LangoError } from '../../src/core/errors.js';
import { createServer } from '../../src/index.js';
import { sendText, withServer } from '../support/server.js';

/** Packages as their authors could write them, by their names: their whole code. */
const PACKAGES: Readonly<Record<string, string>> = {
  'one-maker': `
    export const createOne = (given) => ({ languageModel: (modelId) => ({
      specificationVersion: 'v4', provider: 'one.chat', modelId,
      doStream: async () => ({ stream: ReadableStream.from([
        { type: 'text-delta', id: '1', delta: JSON.stringify({ ...given, fetch: typeof given.fetch, modelId }) },
        { type: 'finish', finishReason: { unified: 'stop' }, usage: {} },
      ]) }),
    }) });
    export const createSame = createOne;`,
  'two-makers': 'export const createOne = () => () => ({}); export const createTwo = () => () => ({});',
  'no-maker': 'export const google = () => ({});',
  'no-model': 'export const createOne = () => () => ({ specificationVersion: "v4" });',
  'old-model': 'export const createOne = () => () => ({ specificationVersion: "v1", doStream() {} });',
  broken: 'throw new Error("does not load");',
};

let home: string;
beforeAll(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'lango-packages-'));
  for (const [name, code] of Object.entries(PACKAGES)) {
    const folder = path.join(home, 'node_modules', name);
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'index.js'), code);
    const entry = { import: { default: './index.js' } };
    const about = { name, type: 'module', exports: { '.': entry, './more': entry } };
    await writeFile(path.join(folder, 'package.json'), JSON.stringify(about));
  }
});
afterAll(() => rm(home, { recursive: true, force: true }));

const modelOf = (name: string, more: object = {}) =>
  ({ provider: 'ai-sdk', package: name, name: 'm', maxRetries: 0, ...more }) as const;

/** The text that a person reads when the first message meets this model. */
async function answerOf(model: ReturnType<typeof modelOf>): Promise<string> {
  let text = '';
  const settings = { server: { port: 0 }, agent: { multiAgent: false }, model };
  await withServer({ home, settings }, async (server) => {
    ({ text } = (await sendText(server, 'hello')).end);
  });
  return text;
}

describe('a package of a model', () => {
  it('is found in the data folder, and gets key, address, options and a fetch', async () => {
    const model = modelOf('one-maker', {
      ...{ apiKey: 'k', baseUrl: 'http://127.0.0.1:9/v1' },
      ...{ options: { region: 'here' }, secretOptions: { accessKeyId: 'not-shown' } },
    });
    expect(JSON.parse(await answerOf(model))).toEqual({
      ...{ region: 'here', accessKeyId: 'not-shown' },
      ...{ baseURL: 'http://127.0.0.1:9/v1', apiKey: 'k', fetch: 'function', modelId: 'm' },
    });
  });

  it('may be an entry of it, as of one vendor with several APIs', async () => {
    expect(JSON.parse(await answerOf(modelOf('one-maker/more')))).toMatchObject({ modelId: 'm' });
    await expect(answerOf(modelOf('one-maker/none'))).rejects.toThrow('one-maker/none cannot be used');
  });

  it('that is missing ends the start with the way to install it', async () => {
    const settings = { server: { port: 0 }, model: modelOf('@not/installed/entry') };
    const error = (await createServer({ home, settings })
      .start()
      .catch((caught: unknown) => caught)) as LangoError;
    expect([error.code, error.message, error.hint]).toEqual([
      'invalid-config',
      'The package @not/installed/entry of a model is not installed.',
      `Run: npm install --prefix ${home} @not/installed`,
    ]);
  });

  it.each([
    ['two-makers', {}, 'set factory to one of: createOne, createTwo'],
    [
      'two-makers',
      { factory: 'createThree' },
      'exports no function createThree; set factory to one of: createOne, createTwo',
    ],
    ['no-maker', {}, 'it exports no function that makes a provider'],
    ['no-model', {}, 'no-model with the model m is not a language model of the AI SDK'],
    ['old-model', { factory: 'createOne' }, 'implements version v1 of the contract'],
    ['broken', {}, 'does not load'],
  ])('that cannot be used says why: %s %j', async (name, more, why) => {
    expect(await answerOf(modelOf(name, more))).toContain(why);
  });
});
