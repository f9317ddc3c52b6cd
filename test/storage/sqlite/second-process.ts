import { isLangoError } from '../../../src/core/errors.js';
import { silentLogger } from '../../../src/core/logger.js';
import type { TaskStore } from '../../../src/stores/tasks.js';
import { openSqliteStorage } from '../../../src/storage/sqlite/storage.js';
import { acceptOne, delta, fenceOf, RUN_START, runEnd } from '../../suites/task-store-fixtures.js';

/** Writes the commits of this process to standard output, one a line. */
export interface Acknowledged {
  readonly taskId: string;
  readonly messageId: string;
  readonly head: number;
}

const NOBODY = 65_534;
const CONCURRENT_TASKS = 8;

const [command, file = ''] = process.argv.slice(2);
const open = (path = file) => openSqliteStorage({ file: path, synchronous: 'normal', logger: silentLogger });
const say = (line: object) => void process.stdout.write(`${JSON.stringify(line)}\n`);

switch (command) {
  case 'hold':
    open();
    say({ held: true });
    setInterval(() => undefined, 60_000);
    break;
  case 'work':
    work(open().tasks);
    break;
  case 'try-unprivileged':
    await tryUnprivileged();
    break;
  default:
    throw new Error(`unknown command ${command}`);
}

/** Works on tasks until it is killed; each third one is left unfinished. */
function work(store: TaskStore): void {
  const lane = async () => {
    for (let count = 0; ; count += 1) {
      const task = await acceptOne(store, { lease: 'second-process' });
      const [sent] = await store.read(task.id, 0, 1);
      const messageId = sent?.body.type === 'message' ? sent.body.message.id : '';
      const acknowledge = (head: number) => say({ taskId: task.id, messageId, head });
      acknowledge(task.head);
      acknowledge(await store.append(fenceOf(task), [RUN_START, delta('a'), delta('b')]));
      if (count % 3 > 0) acknowledge(await store.append(fenceOf(task), [runEnd('completed')]));
    }
  };
  for (let lanes = 0; lanes < CONCURRENT_TASKS; lanes += 1) void lane();
}

/** Root may write anywhere, so the process becomes another user first; the driver must be loaded before. */
async function tryUnprivileged(): Promise<void> {
  await open(':memory:').close();
  if (process.getuid?.() === 0) {
    process.setegid?.(NOBODY);
    process.seteuid?.(NOBODY);
  }
  try {
    await open().close();
    say({ opened: true });
  } catch (error) {
    say(isLangoError(error) ? { code: error.code, message: error.message, hint: error.hint } : { error });
  }
}
