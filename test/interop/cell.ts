import { appendFileSync } from 'node:fs';
import { it } from '@jest/globals';
import type { Operation, Role, Sdk, Transport, Version } from './sdks.js';

export interface Cell {
  readonly sdk: Sdk;
  readonly role: Role;
  readonly transport: Transport;
  readonly version: Version;
  readonly sdkVersion: () => string;
}

/** The file for the result of each cell, as JSON lines. `npm run interop` sets it. */
const RESULTS = process.env['LANGO_INTEROP_RESULTS'];

/** Records what is known not to work and is not tested. */
export function recordNotes({ name, notes = [] }: Sdk): void {
  for (const why of notes) record({ peer: name, role: 'any', why });
}

/** Records a result, when a run for the page asks for it. */
export function record(result: object): void {
  if (RESULTS) appendFileSync(RESULTS, `${JSON.stringify(result)}\n`);
}

/** A test of one cell of docs/reference/interop.md. It must fail where the SDK has a known fault. */
export function cell(at: Cell, operation: Operation, test: () => Promise<void>): void {
  const { sdk, role, transport, version, sdkVersion } = at;
  const place: Readonly<Record<string, string>> = { role, transport, version, operation };
  const fault = sdk.faults.find(({ why: _why, ...where }) =>
    Object.entries(where).every(([key, value]) => [value].flat().some((one) => one === place[key])),
  );
  const row = () => ({ peer: sdk.name, peerVersion: sdkVersion(), ...place });
  if (fault)
    it.failing(operation, async () => {
      record({ ...row(), why: fault.why });
      await test();
    });
  else
    it(operation, async () => {
      await test();
      record({ ...row(), works: true });
    });
}
