import pc from 'picocolors';
import type { TaskState } from '../core/task.js';

export type Paint = ReturnType<typeof createPaint>;

/** The colors of the command line. They only repeat what the words say. */
export function createPaint(color: boolean) {
  const { bold, cyan, dim, green, italic, magenta, red, yellow } = pc.createColors(color);
  const state = (name: TaskState): string => {
    switch (name) {
      case 'completed':
        return green('✔ completed');
      case 'failed':
      case 'rejected':
        return red(`✘ ${name}`);
      case 'canceled':
        return yellow('✘ canceled');
      case 'input-required':
      case 'auth-required':
        return magenta(`⏸ ${name}`);
      case 'submitted':
      case 'working':
        return dim(name);
    }
  };
  return {
    isColored: color,
    bold,
    cyan,
    dim,
    green,
    italic,
    red,
    yellow,
    state,
    author: (name: string) => bold(cyan(name)),
  };
}
