import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeTinyModel } from '../support/tiny-model.js';
import type { Home } from './lango-process.js';
import { lango, makeHome, startServer } from './lango-process.js';

/**
 * A folder whose node_modules has @huggingface/transformers, which is no dependency of ours (470 MB):
 * `mkdir /tmp/hf && cd /tmp/hf && npm install --ignore-scripts @huggingface/transformers@4`
 */
const LIBRARY_FOLDER = process.env['LANGO_TEST_TRANSFORMERS'];

let home: Home;
let model: string;

beforeEach(async () => {
  home = await makeHome();
  model = path.join(home.folder, 'models', 'tiny');
  await writeTinyModel(model);
  await configure(`embedding: { provider: local, folder: ${model} }`);
  await writeFile(path.join(home.folder, 'fleet.md'), '# Fleet\n\nEach vehicle is inspected in May.\n');
  await writeFile(path.join(home.folder, 'clinic.md'), '# Clinic\n\nThe physician comes on Tuesday.\n');
});

afterEach(() => home.remove());

async function configure(embedding: string): Promise<void> {
  const tools = 'tools: { exec: { enabled: false }, fs: { enabled: false }, browser: { enabled: false } }';
  await writeFile(path.join(home.folder, 'config.yaml'), `${embedding}\n${tools}\nserver: { port: 0 }\n`);
}

const doctor = async (env = home.env) => (await lango(['doctor'], { env })).stdout;
const files = () => [path.join(home.folder, 'fleet.md'), path.join(home.folder, 'clinic.md')];

describe('embedding.provider: local, with a part missing', () => {
  it('asks for a folder', async () => {
    await configure('embedding: { provider: local }');
    const { code, stdout } = await lango(['config', 'check'], home);
    expect(code).not.toBe(0);
    expect(stdout).toMatch(/embedding\.provider needs a model: set embedding\.folder/);
  });

  it.each(['config.json', 'tokenizer.json', 'onnx/model.onnx'])(
    'reports that %s is missing, and starts without embeddings',
    async (file) => {
      await rm(path.join(model, file));
      expect(await doctor()).toMatch(
        new RegExp(
          `^warn {2}tools rag: missing: .*${file} cannot be read.*\\n {6}Set embedding\\.folder`,
          'm',
        ),
      );
    },
  );

  it('names the file that another precision needs', async () => {
    await configure(`embedding: { provider: local, folder: ${model}, precision: q8 }`);
    expect(await doctor()).toMatch(/tools rag: missing: .*onnx\/model_quantized\.onnx cannot be read/);
  });

  it('reports that the library is not installed, while documents are added and found by words', async () => {
    expect(await doctor()).toMatch(
      /^warn {2}tools rag: missing: The library @huggingface\/transformers is not installed\.\n {6}Install it beside lango/m,
    );
    const { stdout, stderr, code } = await lango(['ingest', ...files()], home);
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('2 added') });
    expect(stderr).toMatch(
      /searched by words only\. The library @huggingface\/transformers is not installed/,
    );
    const again = await lango(['ingest', '--reembed'], home);
    expect(again.code).not.toBe(0);
    expect(again.stderr).toMatch(/The library @huggingface\/transformers is not installed/);
    const server = await startServer(home);
    const asked = await lango(['send', '--no-input', 'what do you know about the vehicle?'], {
      env: server.env,
    });
    await server.stop();
    expect(asked.stdout).toMatch(/inspected in May/);
  });
});

(LIBRARY_FOLDER === undefined ? describe.skip : describe)(
  'embedding.provider: local, with the library',
  () => {
    let env: Readonly<Record<string, string>>;

    /** The program finds the library as if it were installed beside it. */
    beforeEach(async () => {
      const hook = path.join(home.folder, 'hook.mjs');
      const parent = JSON.stringify(pathToFileURL(path.join(LIBRARY_FOLDER!, 'any.js')).href);
      await writeFile(
        hook,
        `import { registerHooks } from 'node:module';
       registerHooks({ resolve: (name, context, next) => next(name,
         name === '@huggingface/transformers' ? { ...context, parentURL: ${parent} } : context) });`,
      );
      env = { ...home.env, NODE_OPTIONS: `--import=${pathToFileURL(hook).href}` };
    });

    it('computes vectors in this process and finds by them, and notices another model in the folder', async () => {
      expect(await doctor(env)).toMatch(/^ok {4}tools rag: on: local\/tiny\/fp32\/[0-9a-f]{12}/m);
      const ingested = await lango(['ingest', ...files(), '--json'], { env });
      expect(JSON.parse(ingested.stdout)).toMatchObject({ added: 2, embedded: 2, note: null });
      const ask = async (text: string): Promise<string> => {
        const server = await startServer({ ...home, env });
        const { stdout } = await lango(['send', '--no-input', text], { env: server.env });
        await server.stop();
        return stdout;
      };
      expect(await ask('retrieve passages about automobile')).toMatch(/1\. \S*\/fleet\.md:1-3 \(Fleet\)/);
      expect(await ask('retrieve passages about doctor')).toMatch(/1\. \S*\/clinic\.md:1-3 \(Clinic\)/);
      await writeFile(path.join(model, 'config.json'), '{"model_type":"bert","a":1}');
      expect(await ask('retrieve passages about doctor')).toMatch(
        /vectors there were computed by local\/tiny\/fp32/,
      );
      const again = await lango(['ingest', '--reembed', '--json'], { env });
      expect(JSON.parse(again.stdout)).toMatchObject({ embedded: 2 });
      expect(await ask('retrieve passages about doctor')).toMatch(/1\. \S*\/clinic\.md:1-3/);
    });

    it('reports a file that is no model', async () => {
      await writeFile(path.join(model, 'onnx', 'model.onnx'), 'not a model');
      expect(await doctor(env)).toMatch(/tools rag: missing: The model in .*tiny cannot be loaded: /);
      await writeTinyModel(model);
      await writeFile(path.join(model, 'tokenizer.json'), '{"version":');
      expect(await doctor(env)).toMatch(/tools rag: missing: The model in .*tiny cannot be loaded: /);
    });
  },
);
