import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import type { Demo, Outcome } from './conversation.js';
import { ask, check, delegations } from './conversation.js';
import { recordOutput } from './output.js';
import { formsOf, searchFolder } from './secret-search.js';

const CLI = path.resolve(import.meta.dirname, '../../cli/main.js');
const HELLO_SHA256 = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';

export interface VaultDemo extends Demo {
  readonly url: string;
  readonly token: string;
  /** The data folder. */
  readonly home: string;
}

/** Uses a secret in a command, and searches everything that was written for it; then makes a hash and a signature. */
export async function useVault(demo: VaultDemo): Promise<void> {
  const written = recordOutput();
  const hashed = await ask(demo, 'hash hello with sha256');
  check('the vault did it', delegations(hashed).includes('vault'));
  check('the hash is right', hashed.end.text.includes(HELLO_SHA256));
  await ask(demo, 'create a key named release');
  const signed = await ask(demo, "sign 'hello' with the key release");
  check('there is a signature', /signature: \S{80,}/.test(signed.end.text));

  const value = `demo-${randomBytes(18).toString('base64')}`;
  demo.say(
    '\n── A person stores a secret with: lango secrets set github --for exec (its value on standard input)',
  );
  demo.say(await storeSecret(demo, value));
  const seen: Outcome[] = [];
  for (const request of [
    'run `printenv TOKEN` with the secret github as TOKEN',
    'run `printenv TOKEN | base64` with the secret github as TOKEN',
    "run `printf %s '{{secret:github}}' | wc -c`",
  ]) {
    seen.push(await ask(demo, request));
  }
  check('the command had the value', seen[2]?.end.text.includes(String(value.length)) ?? false);
  const events = JSON.stringify(seen.map((outcome) => outcome.events));
  check(
    'no answer or event shows the value',
    formsOf(value).every((form) => !events.includes(form)),
  );
  const output = written();
  check('what was printed was kept to look through', output.includes('{{secret:github}}'));
  check(
    'nothing that was printed shows the value',
    formsOf(value).every((form) => !output.includes(form)),
  );
  const { files, bytes, found } = await searchFolder(demo.home, value);
  check(`no file of the data folder holds the value (${found.join(', ')})`, found.length === 0);
  demo.say(
    `\nThe demo searched its output and all ${bytes} bytes of the ${files} files of the data folder for the value, in ${formsOf(value).length} encodings.`,
  );
  demo.say('It did not find the value.');
}

function storeSecret({ url, token, home }: VaultDemo, value: string): Promise<string> {
  const env = { PATH: process.env['PATH'], LANGO_HOME: home, LANGO_URL: url, LANGO_TOKEN: token };
  return new Promise((resolve, reject) => {
    const args = [CLI, 'secrets', 'set', 'github', '--for', 'exec'];
    const child = execFile(process.execPath, args, { env }, (error, stdout) =>
      error ? reject(new Error(`lango secrets failed: ${error.message}`)) : resolve(stdout.trim()),
    );
    child.stdin?.end(value);
  });
}
