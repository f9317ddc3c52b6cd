import { jest } from '@jest/globals';

let said: string[] = [];

/** Keeps what the SDK logs to the console instead of printing it, until mocks are restored. */
export function hushConsole(): void {
  said = [];
  for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const)
    jest.spyOn(console, level).mockImplementation((...words) => void said.push(words.join(' ')));
}

/** Every line that was logged to the console since `hushConsole`. */
export function saidToConsole(): readonly string[] {
  return said;
}
