import { describe, expect, it } from '@jest/globals';
import OneRealm from './environment.js';

describe('the environment of a test file', () => {
  it('gives the process back as the file found it', async () => {
    const seen = (): Readonly<Record<string, unknown>> => ({
      ...process.env,
      folder: process.cwd(),
      exitCode: process.exitCode,
      exit: Reflect.get(process, 'exit'),
      write: Reflect.get(process.stdout, 'write'),
      fetch: globalThis.fetch,
      setTimeout: globalThis.setTimeout,
    });
    const before = seen();

    const environment = new OneRealm({ projectConfig: { fakeTimers: {} } } as never);
    process.env['LANGO_HOME'] = '/elsewhere';
    delete process.env['PATH'];
    process.chdir('/');
    process.exitCode = 3;
    process.exit = () => undefined as never;
    environment.moduleMocker.spyOn(process.stdout, 'write').mockReturnValue(true);
    globalThis.fetch = () => Promise.reject(new Error('no network'));
    environment.fakeTimersModern.useFakeTimers();
    const changed = Object.entries(seen()).filter(([name, value]) => value !== before[name]);
    await environment.teardown();

    expect(changed).toHaveLength(7);
    expect(seen()).toEqual(before);
  });

  it('has helpers of its own, and shares the sources with the files before it', () => {
    const [, number] = import.meta.url.split('?');
    expect(import.meta.resolve('./until.js')).toMatch(new RegExp(String.raw`/until\.ts\?${number}$`));
    expect(import.meta.resolve('../../src/core/time.js')).toMatch(/\/time\.ts$/);
  });
});
