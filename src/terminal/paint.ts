import pc from 'picocolors';
import type { TaskState } from '../core/task.js';

export type Paint = ReturnType<typeof createPaint>;

/** The colors of the command line. They only repeat what the words say. */
export function createPaint(color: boolean) {
  const { bold, cyan, dim, green, italic, magenta, red, yellow } = pc.createColors(color);
  const states: Readonly<Record<TaskState, string>> = {
    completed: green('✔ completed'),
    failed: red('✘ failed'),
    rejected: red('✘ rejected'),
    canceled: yellow('✘ canceled'),
    'input-required': magenta('⏸ input-required'),
    'auth-required': magenta('⏸ auth-required'),
    submitted: dim('submitted'),
    working: dim('working'),
  };
  return {
    ...{ bold, cyan, dim, green, italic, red, yellow },
    isColored: color,
    state: (name: TaskState) => states[name],
    author: (name: string) => bold(cyan(name)),
  };
}
