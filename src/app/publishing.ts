import path from 'node:path';
import type { CardParts } from '../a2a/server/card.js';
import { signCard } from '../a2a/server/signing.js';
import { buildCard, buildExtendedCard, grpcAddress } from '../a2a/server/card.js';
import { cardSkills } from '../agents/capabilities.js';
import { createGrant } from '../a2a/server/grant.js';
import { createAgentHandler } from '../a2a/server/handler.js';
import type { PushConfigs } from '../a2a/server/push-configs.js';
import type { PublishedAgent } from '../a2a/server/operations.js';
import { loadCardFiles } from '../config/cards.js';
import type { Config } from '../config/config.js';
import { agentLimits } from '../config/config.js';
import { packageRoot, packageVersion } from '../config/package-root.js';
import type { Agent, Skill } from '../core/agent.js';
import type { Audit } from '../core/identity.js';
import type { Journal } from '../core/journal.js';
import type { ReadKeys } from '../core/card.js';
import { rootAgentName } from '../core/agent.js';
import type { Access } from './access.js';
import type { AgentOrigin } from './agents.js';

export interface Publication {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly origins: ReadonlyMap<string, AgentOrigin>;
  /** The agent that answers at the root of the host. */
  readonly root: string;
  readonly journal: Journal;
  readonly config: Config;
  readonly nodeId: string;
  readonly access: Access;
  readonly audit: Audit;
  /** Where the server can be reached from this machine, once it is known. */
  readonly originOf: () => string;
  /** Of the gRPC binding, once it is known; undefined without one. */
  readonly grpcPortOf: () => number | undefined;
  /** Undefined when this node sends no push notifications. */
  readonly push: PushConfigs | undefined;
  /** What cards are signed with. */
  readonly keys: ReadKeys;
}

/** Each agent with its own card and its own handler (requirement X1). */
export async function publish(options: Publication): Promise<ReadonlyMap<string, PublishedAgent>> {
  const { agents, root, journal, config, nodeId, originOf, grpcPortOf, push, keys, access, audit, origins } =
    options;
  const grpcOf = (baseUrl: string): string | undefined => {
    const port = grpcPortOf();
    return port === undefined ? undefined : (config.server.grpc.advertise ?? grpcAddress(baseUrl, port));
  };
  const files = await loadCardFiles(path.join(packageRoot(), 'agent-cards'));
  const reviewed = [...files.values()].flatMap((file) => file.skills);
  const version = packageVersion();
  const limits = agentLimits(config);
  const published = [...agents].map(([name, { profile }]): [string, PublishedAgent] => {
    const origin = origins.get(name);
    const file = origin === 'shipped' ? files.get(name) : undefined;
    const skills = (): readonly Skill[] =>
      origin === 'program' ? profile.skills : cardSkills(profile.skills, file?.skills ?? [], reviewed);
    const partsFor = (baseUrl = config.a2a.baseUrl ?? originOf()): CardParts => ({
      file,
      profile: { ...profile, skills: skills() },
      version,
      baseUrl,
      grpc: grpcOf(baseUrl),
      isRoot: name === root,
      auth: access.cardAuth(name),
      push: push !== undefined,
    });
    const card: PublishedAgent['card'] = (baseUrl) => buildCard(partsFor(baseUrl));
    const extendedCard = async (baseUrl?: string): Promise<ReturnType<typeof buildCard>> => {
      const extended = buildExtendedCard(partsFor(config.a2a.baseUrl ?? baseUrl));
      return config.a2a.signCards ? signCard(extended, (await keys()).current) : extended;
    };
    const handler = createAgentHandler({
      agent: profile,
      journal,
      push,
      card,
      extendedCard: config.auth.mode === 'none' ? undefined : extendedCard,
      rootAgentName: rootAgentName(config.agent.multiAgent),
      grant: createGrant({ limits, self: `${name}@${nodeId}`, toolsFor: access.toolsFor }),
    });
    return [name, { name, handler, card, scope: access.scopeOf(name), audit }];
  });
  return new Map(published);
}
