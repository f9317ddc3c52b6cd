import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { withServer } from '../support/server.js';

const pages = readdirSync('docs/reference/extensions').map((file) => {
  const text = readFileSync(`docs/reference/extensions/${file}`, 'utf8');
  return { file, text, uri: /^# `([^`]+)`/.exec(text)?.[1] };
});

describe('docs/reference/extensions', () => {
  it('has a page for each extension that a served card declares, listed in the index, and no others', async () => {
    await withServer({}, async ({ address }) => {
      const answer = await fetch(`${address.origin}/agents/planner/.well-known/agent-card.json`);
      const { capabilities } = (await answer.json()) as {
        readonly capabilities: { readonly extensions: readonly { readonly uri: string }[] };
      };
      const declared = capabilities.extensions.map(({ uri }) => uri).sort();
      expect(pages.map(({ uri }) => uri).sort()).toEqual(declared);
    });
    const index = readFileSync('docs/reference/extensions.md', 'utf8');
    for (const { file, uri } of pages) expect(index).toContain(`[\`${uri}\`](extensions/${file})`);
  });

  it.each(pages)('$file has examples that are JSON and carry its URI', ({ text, uri }) => {
    const examples = [...text.matchAll(/```json\n(.*?)```/gs)].map(([, json]) => json!);
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) expect(JSON.stringify(JSON.parse(example))).toContain(`"${uri}"`);
  });
});
