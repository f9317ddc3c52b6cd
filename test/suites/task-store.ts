import { afterEach, beforeEach, describe } from '@jest/globals';
import { acceptCases } from './task-store-accept.js';
import { appendCases } from './task-store-append.js';
import { cancelCases } from './task-store-cancel.js';
import type { OpenStore, StoreUnderTest } from './task-store-fixtures.js';
import { expiryCases } from './task-store-expiry.js';
import { forkCases } from './task-store-forks.js';
import { leaseCases } from './task-store-lease.js';
import { listCases } from './task-store-list.js';
import { readCases } from './task-store-read.js';
import { referenceCases } from './task-store-references.js';

/** The contract of every `TaskStore`, shown through its interface alone. Each case gets a new store. */
export function taskStoreSuite(name: string, open: OpenStore): void {
  describe(`task store: ${name}`, () => {
    let current: StoreUnderTest;
    beforeEach(async () => {
      current = await open();
    });
    afterEach(async () => {
      await current.storage.close();
      await current.dispose();
    });
    const get = () => current;
    acceptCases(get);
    appendCases(get);
    leaseCases(get);
    cancelCases(get);
    expiryCases(get);
    listCases(get);
    readCases(get);
    referenceCases(get);
    forkCases(get);
  });
}
