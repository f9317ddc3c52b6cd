import { beforeEach, describe, expect, it } from '@jest/globals';
import { noScrubber, noSecrets, type SecretUse } from '../../../src/core/secrets.js';
import { BorrowedSecrets } from '../../../src/capabilities/secrets/access.js';
import { scrubLogger } from '../../../src/scrub/data.js';
import { RecordingLogger } from '../../support/recording-logger.js';

/** The secrets of another node that a node holds for a while. */

const ALICE = { tenant: '', owner: 'alice' };
const BOB = { tenant: '', owner: 'bob' };
const VALUE = 'ghp_S3cr3tToken42';

let values: Record<string, string>;
let asked: string[];
let log: RecordingLogger;
let borrowed: BorrowedSecrets;

beforeEach(() => {
  values = { api: VALUE };
  asked = [];
  log = new RecordingLogger();
  borrowed = new BorrowedSecrets({
    ask: (scope, name) => {
      asked.push(`${scope.owner} ${name}`);
      return Promise.resolve(values[name]!);
    },
    own: { guard: noSecrets, everywhere: noScrubber },
    logger: log,
  });
});

const inHeader: SecretUse = { tool: 'http_request', place: 'http', host: 'api.example.com' };
const inCommand: SecretUse = { tool: 'exec', place: 'exec' };
const resolve = (use: SecretUse, name = 'api', scope = ALICE) =>
  borrowed.resolve(scope, `use {{secret:${name}}}`, use);
const seen = (value = VALUE, scope = ALICE) => borrowed.scrubber(scope).text(`it is ${value}`);
/** A call whose output is not scrubbed yet. */
const call = () => {
  const { promise: scrubbed, resolve: end } = Promise.withResolvers<void>();
  return { scrubbed, end: () => (end(), scrubbed.then(() => undefined)) };
};

describe('a borrowed secret', () => {
  it('is scrubbed from the texts of its owner, and from the log, until its call is over', async () => {
    const { scrubbed, end } = call();
    expect(await resolve({ ...inHeader, scrubbed })).toBe(`use ${VALUE}`);
    expect(seen()).toBe('it is {{secret:api}}');
    expect(seen(VALUE, BOB)).toBe(`it is ${VALUE}`);
    scrubLogger(log, () => borrowed.everywhere).info(`it is ${VALUE}`);
    expect(log.lines.at(-1)).toContain('it is {{secret:api}}');
    await end();
    expect(borrowed.scrubber(ALICE).isEmpty).toBe(true);
    expect(borrowed.everywhere.isEmpty).toBe(true);
  });

  it('is forgotten when the last call that uses it is over', async () => {
    const [first, second] = [call(), call()];
    await resolve({ ...inHeader, scrubbed: first.scrubbed });
    await resolve({ ...inHeader, scrubbed: second.scrubbed });
    await first.end();
    expect(seen()).toBe('it is {{secret:api}}');
    await second.end();
    expect(seen()).toBe(`it is ${VALUE}`);
  });

  it('is scrubbed also after its command, which may have written it into a file', async () => {
    await resolve(inCommand);
    values['api'] = 'the-next-value-4711';
    await resolve(inCommand);
    expect([seen(), seen('the-next-value-4711')]).toEqual(Array(2).fill('it is {{secret:api}}'));
  });

  it('is dropped for 500 newer ones, but not before its command has ended', async () => {
    const { scrubbed, end } = call();
    values['long'] = 'the-value-of-a-long-command';
    await resolve({ ...inCommand, scrubbed }, 'long');
    await resolve(inCommand);
    for (let index = 0; index < 500; index += 1) {
      values[`s${index}`] = `another-value-${index}`;
      await resolve(inCommand, `s${index}`, index % 2 ? BOB : ALICE);
      // Used again, so that it is one of the newest.
      if (index === 250) await resolve(inCommand);
    }
    expect(seen(values['long'])).toBe('it is {{secret:long}}');
    await end();
    expect(seen(values['long'])).toBe(`it is ${values['long']}`);
    expect(seen()).toBe('it is {{secret:api}}');
    expect(seen('another-value-0')).toBe('it is another-value-0');
    expect(seen('another-value-2')).toBe('it is {{secret:s2}}');
  });

  it('is never requested for a page', async () => {
    await expect(resolve({ ...inHeader, place: 'browser' })).rejects.toMatchObject({ code: 'not-supported' });
    expect(asked).toEqual([]);
  });
});
