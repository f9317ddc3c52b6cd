import { jest } from '@jest/globals';

let said: string[] = [];

/** The SDK tells its troubles to the console. From here on it is only kept, until mocks are restored. */
export function hushConsole(): void {
  said = [];
  for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const)
    jest.spyOn(console, level).mockImplementation((...words) => void said.push(words.join(' ')));
}

/** All that was said since the console was hushed. */
export function saidToConsole(): readonly string[] {
  return said;
}
