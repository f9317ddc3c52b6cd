import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { SDKS } from './sdks.js';

/** The page is written by a run with everything installed. Here: that it is not older than what is pinned and known. */
const page = readFileSync('docs/reference/interop.md', 'utf8');
const pinned = ['.ci/frameworks', 'test/interop/peers/a2a_java/pom.xml']
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');

describe.each(SDKS)(
  'docs/reference/interop.md, $name (else: npm run interop)',
  ({ name, pin, bindings, faults, roles = ['client', 'remote agent'] }) => {
    it('shows the pinned version in a row for each transport and role', () => {
      const version = pin.exec(pinned)?.[1];
      const rows = page.split('\n').filter((line) => line.startsWith(`| ${name} ${version} |`));
      expect(rows).toHaveLength(roles.length * bindings.length);
    });

    it('tells each known fault', () => {
      for (const { why } of faults) expect(page).toContain(`${name}: ${why}`);
    });
  },
);
