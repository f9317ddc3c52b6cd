import type { LogFields, Logger } from '../../src/core/logger.js';

/** A logger that records its lines as JSON. */
export class RecordingLogger implements Logger {
  readonly lines: string[] = [];
  readonly #waiting: (() => void)[] = [];

  debug = this.#record('debug');
  info = this.#record('info');
  warn = this.#record('warn');
  error = this.#record('error');

  child(): Logger {
    return this;
  }

  /** Resolves once a line contains `words`. */
  async saying(words: string): Promise<void> {
    await this.#until(() => this.lines.some((line) => line.includes(words)));
  }

  /** Resolves once `times` lines match the pattern. */
  async sayingTimes(pattern: RegExp, times: number): Promise<void> {
    await this.#until(() => this.lines.filter((line) => pattern.test(line)).length >= times);
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #record(level: string): (message: string, fields?: LogFields) => void {
    return (message, fields) => {
      this.lines.push(JSON.stringify({ level, message, ...fields }));
      for (const resolve of this.#waiting.splice(0)) resolve();
    };
  }
}
