import { expect, it } from '@jest/globals';
import { toolNamed } from '../support/agent-fixtures.js';
import { ScriptedModel, call, say } from '../support/scripted-model.js';
import { sendText, withServer } from '../support/server.js';

const pictureOf = (path: string) => ({ kind: 'file', bytes: btoa(path), mediaType: 'image/png' }) as const;

it('a model gets the images of the newest two results, and a text in place of earlier ones', async () => {
  const camera = toolNamed('browser_picture', {
    execute: async (path) => ({ content: `of ${path}`, files: [pictureOf(path)] }),
  });
  const model = new ScriptedModel({
    flat: [...['a', 'b', 'c'].map((path) => call(['browser_picture', { path }])), say('done')],
  });
  const settings = { server: { port: 0 }, agent: { multiAgent: false } };
  await withServer({ model, tools: [camera], settings }, async (server) => {
    expect((await sendText(server, 'look three times')).end.state).toBe('completed');
    const shown = model.requests.map(({ messages }) =>
      messages
        .flatMap((message) => (message.role === 'results' ? message.results : []))
        .map(({ content, images }) => [images, content.includes('not shown any more')]),
    );
    const [a, b, c] = ['a', 'b', 'c'].map((path) => [[pictureOf(path)], false]);
    expect(shown).toEqual([[], [a], [a, b], [[undefined, true], b, c]]);
  });
});
