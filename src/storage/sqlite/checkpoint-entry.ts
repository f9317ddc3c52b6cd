import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/* Runs on a separate thread (see checkpoints.ts), so that its disk flushes block nothing else. */

const database = new Database(workerData as string, { fileMustExist: true });
parentPort?.on('message', () => {
  database.pragma('wal_checkpoint(PASSIVE)');
  parentPort?.postMessage('done');
});
