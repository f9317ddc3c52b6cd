import { expect, it } from '@jest/globals';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

it('every tool that shows what a page says marks the run as one that read text from outside', () => {
  const folder = path.resolve('src/tools/browser');
  const tools = readdirSync(folder).filter((file) => /^browser-(?!close)\w+\.ts$/.test(file));
  expect(tools).toHaveLength(6);
  const unmarked = tools.filter(
    (file) => !readFileSync(path.join(folder, file), 'utf8').includes('bringsOutside: true'),
  );
  expect(unmarked).toEqual([]);
});
