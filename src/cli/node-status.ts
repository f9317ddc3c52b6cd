import { z } from 'zod';
import { STATUS_PATH } from '../app.js';
import { LangoError } from '../core/errors.js';
import type { Connection } from './connection.js';

const agentSchema = z.object({
  name: z.string(),
  kind: z.enum(['local', 'remote']),
  url: z.string().optional(),
  state: z.enum(['ready', 'skipped']),
  reason: z.string().optional(),
  hint: z.string().optional(),
  description: z.string().optional(),
  skills: z.array(z.object({ name: z.string() })),
});

const familySchema = z.object({
  name: z.string(),
  state: z.enum(['on', 'off', 'missing']),
  note: z.string().optional(),
  hint: z.string().optional(),
});

const statusSchema = z.object({
  root: z.string(),
  model: z.string(),
  published: z.array(z.string()),
  peers: z.array(agentSchema),
  families: z.array(familySchema).default([]),
});

/** What a Lango server says about itself. */
export type NodeStatus = z.infer<typeof statusSchema>;
export type AgentStatus = z.infer<typeof agentSchema>;

/** Undefined for a server of another kind. */
export async function readStatus(connection: Connection): Promise<NodeStatus | undefined> {
  const response = await connection.fetch(new URL(STATUS_PATH, connection.url));
  if (response.status === 404) return undefined;
  if (!response.ok)
    throw new LangoError('unavailable', `The server answered with status ${response.status}.`);
  return statusSchema.safeParse(await response.json().catch(() => undefined)).data;
}
