import type { JestEnvironment, JestEnvironmentConfig } from '@jest/environment';
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

/**
 * Runs all test files of a worker in the realm of Node, where each module of src and of packages is loaded once (runner.ts).
 * A context of its own for each file, as Jest has it, costs a quarter of the CPU of all tests.
 */
export default class OneRealm implements JestEnvironment<unknown> {
  readonly global = globalThis as unknown as JestEnvironment['global'];
  readonly fakeTimers = null;
  readonly fakeTimersModern: ModernFakeTimers;
  readonly moduleMocker = new ModuleMocker(globalThis);
  readonly #restore = keepProcess();

  constructor({ projectConfig }: JestEnvironmentConfig) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  /** There is no context: Jest loads nothing itself. */
  getVmContext(): null {
    return null;
  }

  exportConditions(): string[] {
    return ['node', 'node-addons'];
  }

  setup(): Promise<void> {
    return Promise.resolve();
  }

  teardown(): Promise<void> {
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    this.#restore();
    return Promise.resolve();
  }
}

/** Gives the process back what a test file may change of it, so that the next file of the worker does not see it. */
function keepProcess(): () => void {
  const { exitCode } = process;
  const exit = Object.getOwnPropertyDescriptor(process, 'exit')!;
  const env = { ...process.env };
  const folder = process.cwd();
  const globals = Reflect.ownKeys(globalThis).map(
    (key) => [key, Object.getOwnPropertyDescriptor(globalThis, key) as PropertyDescriptor] as const,
  );
  return () => {
    process.exitCode = exitCode;
    Object.defineProperty(process, 'exit', exit);
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
    if (process.cwd() !== folder) process.chdir(folder);
    // New keys stay: packages keep their state there.
    for (const [key, before] of globals) Reflect.defineProperty(globalThis, key, before);
    // Except the handlers of events, to which Jest adds those of the next file.
    Reflect.deleteProperty(globalThis, Symbol.for('EVENT_HANDLERS'));
  };
}
