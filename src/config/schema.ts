import { z } from 'zod';
import { agent, model } from './agent-keys.js';
import { graph } from './graph-keys.js';
import { observationalMemory } from './memory-keys.js';
import { approval, egress, logging, storage, tools, workspace } from './host-keys.js';
import { payment } from './payment-keys.js';
import { embedding, ingest, webSearch } from './knowledge-keys.js';
import { tasks } from './task-keys.js';
import { vault } from './vault-keys.js';
import { auth } from './auth-keys.js';
import { a2a, server } from './server-keys.js';

/** Every key of the configuration file, with its check, its default and its description. */
export const settingsSchema = z.strictObject({
  agent,
  model,
  server,
  auth,
  a2a,
  storage,
  tasks,
  workspace,
  vault,
  tools,
  graph,
  observationalMemory,
  payment,
  embedding,
  ingest,
  webSearch,
  approval,
  egress,
  logging,
});

/** What a file, or a program that starts the server, may say: everything is optional. */
export type SettingsInput = z.input<typeof settingsSchema>;
/** Checked and with its defaults, still holding secrets. */
export type Settings = z.output<typeof settingsSchema>;
