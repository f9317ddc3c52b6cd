import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/* Runs in a thread of its own (checkpoints.ts): nobody waits for the disk here. */

const database = new Database(workerData as string, { fileMustExist: true });
parentPort?.on('message', () => {
  database.pragma('wal_checkpoint(PASSIVE)');
  parentPort?.postMessage('done');
});
