import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { LangoError } from '../../../../src/core/errors.js';
import { replaceReferences } from '../../../../src/core/secrets.js';
import { withSecrets } from '../../../../src/capabilities/workspace/exec/runner.js';
import { toolContext } from '../../../support/tool-call.js';

function contextWith(values: Readonly<Record<string, string>>) {
  return toolContext({
    resolveSecrets: async (text) =>
      replaceReferences(text, (name) => {
        const value = values[name];
        if (value === undefined) throw new LangoError('not-found', `no secret ${name}`);
        return value;
      }),
  });
}

describe('a reference in a command', () => {
  it('becomes a variable with the quoting of its position, and the shell executes nothing in the value', async () => {
    const value = fc
      .string({ minLength: 6, maxLength: 40, unit: 'grapheme' })
      .filter((text) => !text.includes('\0') && !/\n$/.test(text));
    await fc.assert(
      fc.asyncProperty(value, async (secret) => {
        const command = `printf '%s|' {{secret:a}} "x{{secret:a}}y" 'x{{secret:a}}y' x{{secret:a}}\\"{{secret:a}}`;
        const done = await withSecrets({ command }, contextWith({ a: secret }));
        expect(done.command).not.toContain(secret);
        const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8', ...done.env };
        const said = execFileSync('/bin/sh', ['-c', done.command], { env }).toString();
        expect(said).toBe(`${secret}|x${secret}y|x${secret}y|x${secret}"${secret}|`);
      }),
      { numRuns: 60 },
    );
  });

  it('is replaced by its value in env; other text in braces stays unchanged', async () => {
    const input = {
      command: 'echo {{x}} {{secret:}}',
      env: { TOKEN: 'Bearer {{secret:a}}', PLAIN: '{{no}}' },
    };
    const done = await withSecrets(input, contextWith({ a: 'value-1' }));
    expect(done).toEqual({ command: input.command, env: { TOKEN: 'Bearer value-1', PLAIN: '{{no}}' } });
  });

  it('stops the command before it starts when it cannot be resolved', async () => {
    for (const input of [{ command: 'echo {{secret:b}}' }, { command: 'true', env: { A: '{{secret:b}}' } }]) {
      await expect(withSecrets(input, contextWith({}))).rejects.toMatchObject({ code: 'not-found' });
    }
  });
});
