import { z } from 'zod';
import { isLoopback } from '../../core/addresses.js';
import { isJsonObject, parseObject } from '../../core/json.js';
import { shorten } from '../../core/text.js';
import { parseGrpcAddress } from './grpc-transport.js';
import { BINDINGS } from './link.js';

const MAX_HEADER = 2_000;
const MAX_SHOWN = 60;
const MAX_SKILLS = 64;
const MAX_EXAMPLES = 16;
const MIN_DESCRIPTION = 20;
const MAX_DESCRIPTION = 1_000;
/** The number of characters of a text that are checked. */
const MAX_READ = 2_000;
const MIN_EXAMPLE_WORDS = 2;
const KNOWN_VERSIONS = ['1.0', '0.3'];
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const BRACES = /[{}]/;
const TOOL_NAME = /\b[a-z][a-z0-9]*_[a-z0-9_]+\b/;

function needs(wanted: string) {
  return ({ input }: { readonly input?: unknown }): string =>
    `${input === undefined ? 'is missing' : `is ${show(input)}`}. A2A requires ${wanted}.`;
}

function textOf(wanted: string) {
  return z
    .string({ error: needs(wanted) })
    .refine((value) => value.trim() !== '', { error: `is empty. A2A requires ${wanted}.` });
}

function listOf<Item extends z.ZodType>(wanted: string, item: Item) {
  return z.array(item, { error: needs(wanted) });
}

function objectWith<Shape extends z.ZodRawShape>(wanted: string, shape: Shape) {
  return z.looseObject(shape, { error: needs(wanted) });
}

/** Marks an issue as a warning: the card is valid, but helps a foreign orchestrator little. */
export const WARNING = { severity: 'warning' };

/** A check that adds a warning when `find` returns a text. */
function warn<Value>(find: (value: Value) => string | undefined) {
  return (value: Value, context: z.RefinementCtx): void => {
    const message = find(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message, params: WARNING });
  };
}

function flawOfText(text: string): string | undefined {
  const read = text.slice(0, MAX_READ);
  if (INVISIBLE.test(read))
    return 'holds control characters or invisible marks. Write one line of plain text.';
  if (BRACES.test(read))
    return `is ${show(text)}. Braces read like a template: write it as a person would say it.`;
  const tool = TOOL_NAME.exec(read)?.[0];
  return tool && `holds ${show(tool)}, which reads like the name of a tool. Say in plain words what it does.`;
}

function flawOfDescription(text: string): string | undefined {
  const length = text.trim().length;
  if (length > 0 && length < MIN_DESCRIPTION)
    return `is ${show(text)}, too short to choose by. Say what is done, and when to ask for it.`;
  if (text.length <= MAX_DESCRIPTION) return undefined;
  return `has ${text.length} characters. Orchestrators cut it after ${MAX_DESCRIPTION}: shorten it.`;
}

const SEGMENTER = new Intl.Segmenter(undefined, { granularity: 'word' });

function flawOfExample(text: string): string | undefined {
  const words = [...SEGMENTER.segment(text.slice(0, MAX_READ))].filter(({ isWordLike }) => isWordLike);
  if (words.length >= MIN_EXAMPLE_WORDS) return undefined;
  return `is ${show(text)}. Write a whole sentence that a person would say.`;
}

const description = (wanted: string) =>
  textOf(wanted).superRefine(warn((text) => flawOfText(text) ?? flawOfDescription(text)));
const name = textOf('a name for people').superRefine(warn(flawOfText));

const flag = z.boolean({ error: needs('true or false') }).optional();

const webUrl = z
  .string({ error: needs('an absolute http or https address') })
  .refine((url) => url === '' || /^https?:$/.test(URL.parse(url)?.protocol ?? ''), {
    error: ({ input }) => `is ${show(input)}, but has to be an absolute http or https address.`,
  });

const mediaType = z
  .string({ error: needs('a media type such as "text/plain"') })
  .regex(/^[\w.+-]+\/[\w.+*-]+(?:\s*;|$)/, {
    error: ({ input }) => `is ${show(input)}, but has to be a media type such as "text/plain".`,
  });
const modes = listOf('a list of media types', mediaType);
const someModes = modes.min(1, 'is empty. A2A requires at least one media type such as "text/plain".');

const requirement = objectWith('an object { "schemes": … }', {
  schemes: z.record(z.string(), z.unknown(), { error: needs('{ NAME: { "list": [SCOPES] } }') }),
});
const requirements = listOf('a list of alternatives', requirement).optional();

const interfaceSchema = objectWith('an object { url, protocolBinding, protocolVersion }', {
  url: textOf('the absolute address of the interface'),
  protocolBinding: textOf(`one of ${BINDINGS.join(', ')}`).refine(isBinding, {
    error: ({ input }) =>
      `is ${show(input)}, but has to be ${BINDINGS.join(', ')} or the URI of a custom binding.`,
  }),
  protocolVersion: textOf('a version such as "1.0"').regex(/^\d+\.\d+$/, {
    error: ({ input }) => `is ${show(input)}, but has to be Major.Minor such as "1.0".`,
  }),
}).superRefine(({ url, protocolBinding }, context) => {
  const message = addressProblem(url, protocolBinding);
  if (message) context.addIssue({ code: 'custom', path: ['url'], message });
});

const extensionSchema = objectWith('an object with a uri', {
  uri: textOf('the URI of the extension'),
  required: flag,
});

const capabilitiesSchema = objectWith('an object; write {} when there are none', {
  streaming: flag,
  pushNotifications: flag,
  extendedAgentCard: flag,
  extensions: listOf('a list of extensions', extensionSchema).optional(),
});

const example = z
  .string({ error: needs('a sentence') })
  .superRefine(warn((text) => flawOfText(text) ?? flawOfExample(text)));

const skillSchema = objectWith('an object { id, name, description, tags }', {
  id: textOf('an id that is unique on the card'),
  name,
  description: description('a sentence or two on what to ask for'),
  tags: listOf('a list of keywords', textOf('a keyword')).superRefine(warn(flawOfTags)),
  examples: listOf('a list of sentences', example).superRefine(warn(flawOfExamples)).prefault([]),
  inputModes: modes.optional(),
  outputModes: modes.optional(),
  securityRequirements: requirements,
});

function flawOfTags({ length }: readonly unknown[]): string | undefined {
  return length > 0 ? undefined : 'is empty, so searches miss the skill. Write a few keywords.';
}

function flawOfExamples({ length }: readonly unknown[]): string | undefined {
  if (length === 0)
    return 'is empty. Write two to four sentences that a person would say, to match requests with.';
  return length <= MAX_EXAMPLES ? undefined : `has ${length} entries. Two to four are enough.`;
}

function flawOfSkills({ length }: readonly unknown[]): string | undefined {
  if (length === 0)
    return 'is empty, so an orchestrator cannot tell what to ask for. Describe at least one skill.';
  if (length <= MAX_SKILLS) return undefined;
  return `has ${length} entries. Orchestrators read ${MAX_SKILLS} at most: join related ones.`;
}

const SCHEME_KINDS = ['apiKey', 'httpAuth', 'oauth2', 'openIdConnect', 'mtls'].map(
  (kind) => `${kind}SecurityScheme`,
);

const schemeSchema = z
  .unknown()
  .refine(
    (scheme) =>
      isJsonObject(scheme) && SCHEME_KINDS.filter((kind) => isJsonObject(scheme[kind])).length === 1,
    `has no kind or several. A2A requires exactly one of ${SCHEME_KINDS.join(', ')}.`,
  );

const signatureSchema = objectWith('an object { protected, signature }', {
  signature: textOf('the signature in base64url'),
  protected: textOf('the protected header in base64url').refine(
    isSignatureHeader,
    'names no algorithm (alg) or no key (kid), so the signature cannot be verified.',
  ),
});

const commonFields = {
  name,
  description: description('a sentence or two on what the agent does'),
  documentationUrl: webUrl.optional(),
  iconUrl: webUrl.optional(),
  securitySchemes: z
    .record(z.string(), schemeSchema, { error: needs('an object of named schemes') })
    .optional(),
  securityRequirements: requirements,
  defaultInputModes: someModes,
  defaultOutputModes: someModes,
  skills: listOf('a list of skills', skillSchema).superRefine(warn(flawOfSkills)),
  signatures: listOf('a list of signatures', signatureSchema).optional(),
};
const organization = textOf('the name of the organization');

/** The fields that a card file of agent-cards/ must have before the server completes the card. */
export const templateSchema = objectWith('a JSON object', {
  ...commonFields,
  provider: objectWith('an object { organization }', { organization, url: webUrl.optional() }).optional(),
});

/** The requirements of A2A 1.0 for a card. Each message completes a sentence that begins with the path. */
export const cardSchema = objectWith('a JSON object', {
  ...commonFields,
  // The cards of an agent of Lango get the skills of its tools.
  skills: commonFields.skills.min(
    1,
    'is empty. Describe at least one skill: orchestrators tell by them what to ask for.',
  ),
  version: textOf('the version of the agent, such as "1.2.0"'),
  provider: objectWith('an object { organization, url }', {
    organization,
    url: textOf('the web address of the organization').pipe(webUrl),
  }).optional(),
  supportedInterfaces: listOf('a list of interfaces; a card of A2A 0.3 has none', interfaceSchema)
    .min(1, 'is empty, so no client can call the agent. A2A requires at least one interface.')
    .superRefine(warn(flawOfInterfaces)),
  capabilities: capabilitiesSchema,
});

function flawOfInterfaces(interfaces: readonly z.output<typeof interfaceSchema>[]): string | undefined {
  const isCallable = interfaces.some(
    (one) => isStandard(one.protocolBinding) && KNOWN_VERSIONS.includes(one.protocolVersion),
  );
  if (isCallable) return undefined;
  const known = `${BINDINGS.join(', ')} of version ${KNOWN_VERSIONS.join(' or ')}`;
  return `holds none of ${known}, so most clients cannot call the agent.`;
}

function addressProblem(url: string, binding: string): string | undefined {
  if (url.trim() === '') return undefined;
  if (binding === 'GRPC')
    return parseGrpcAddress(url)
      ? undefined
      : `is ${show(url)}, which names no host and port such as "agent.example:443".`;
  const parsed = URL.parse(url);
  if (!parsed) return `is ${show(url)}, but has to be an absolute URL: clients do not know the host.`;
  if (parsed.username !== '' || parsed.password !== '')
    return 'holds credentials, and everybody can read the card. Declare a security scheme instead.';
  const isPlain =
    parsed.protocol !== 'https:' && !(parsed.protocol === 'http:' && isLoopback(parsed.hostname));
  if (!isPlain || (!isStandard(binding) && parsed.protocol !== 'http:')) return undefined;
  return `is ${show(url)}. A2A requires https outside of this machine, because requests carry credentials.`;
}

function isStandard(binding: string): boolean {
  return BINDINGS.some((known) => known === binding);
}

function isBinding(binding: string): boolean {
  return binding.trim() === '' || isStandard(binding) || URL.canParse(binding);
}

function isSignatureHeader(head: string): boolean {
  const text = Buffer.from(head.slice(0, MAX_HEADER), 'base64url').toString('utf8');
  const { alg, kid } = parseObject(text) ?? {};
  return typeof alg === 'string' && alg.toLowerCase() !== 'none' && typeof kid === 'string';
}

/** Formats a value for a message: short, and in quotes when it is text. */
export function show(value: unknown): string {
  if (typeof value === 'string') return `"${shorten(value, MAX_SHOWN)}"`;
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}
