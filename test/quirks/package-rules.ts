import { listIn, objectIn, textIn, type JsonObject } from '../../src/core/json.js';
import { RULES, type VendorRule } from './vendor-rules.js';

/*
 * Refusals by the vendors that are asked through packages of the AI SDK, each with the words of its error.
 */

const objects = (value: unknown): readonly JsonObject[] => listIn(value).map(objectIn);
const has = (part: JsonObject, member: string): boolean => part[member] !== undefined;

/** Gemini takes a call only with the seal of its thoughts, or with the documented word in place of one. */
const SEALS = ['c2lnbmF0dXJl', 'skip_thought_signature_validator'];

const GEMINI: readonly VendorRule[] = [
  ({ contents }) => {
    const bad = objects(contents).findIndex(({ parts }) => listIn(parts).length === 0);
    if (bad >= 0) return `* GenerateContentRequest.contents[${bad}].parts: contents.parts must not be empty.`;
    return objects(contents).length > 0
      ? undefined
      : '* GenerateContentRequest.contents: contents is not specified';
  },
  ({ contents }) =>
    objects(contents).every(({ role }) => role === 'user' || role === 'model')
      ? undefined
      : 'Please use a valid role: user, model.',
  ({ contents }) => {
    const parts = objects(contents).flatMap((content) => objects(content.parts));
    const blank = parts.some((part) => part.text === '' && !has(part, 'thoughtSignature'));
    return blank ? 'Unable to submit request because it has an empty text parameter.' : undefined;
  },
  ({ tools }) => {
    const names = objects(tools)
      .flatMap(({ functionDeclarations }) => objects(functionDeclarations))
      .map(({ name }) => textIn(name));
    const wrong = names.find((name) => !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(name));
    return wrong === undefined
      ? undefined
      : `Invalid function name ${wrong}. Must start with a letter or an underscore.`;
  },
  ({ contents }) => {
    let open = 0;
    let before = '';
    for (const { role, parts } of objects(contents)) {
      const calls = objects(parts).filter((part) => has(part, 'functionCall'));
      const responses = objects(parts).filter((part) => has(part, 'functionResponse'));
      if (calls.length > 0 && before !== 'user')
        return 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.';
      if (responses.length !== open)
        return 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';
      if (calls.length > 0 && !SEALS.includes(textIn(calls[0]!.thoughtSignature)))
        return 'Function call is missing a thought_signature in functionCall parts.';
      open = calls.length;
      before = textIn(role);
    }
    return open === 0 ? undefined : 'Please ensure that single turn requests end with a user role.';
  },
];

export const GOOGLE_RULES: readonly VendorRule[] = GEMINI;

export const VERTEX_RULES: readonly VendorRule[] = [
  ...GEMINI,
  ({ contents }) => {
    const parts = objects(contents).flatMap((content) => objects(content.parts));
    const members = parts.flatMap(({ functionCall, functionResponse }) => [
      objectIn(functionCall),
      objectIn(functionResponse),
    ]);
    return members.some((member) => has(member, 'id'))
      ? 'Invalid JSON payload received. Unknown name "id" at \'contents[1].parts[0].function_call\': Cannot find field.'
      : undefined;
  },
];

const FIT = /^[a-zA-Z0-9_-]{1,64}$/;

export const BEDROCK_RULES: readonly VendorRule[] = [
  ({ messages, system }) => {
    const texts = [...objects(messages).flatMap(({ content }) => objects(content)), ...objects(system)];
    return texts.some(({ text }) => typeof text === 'string' && text.trim() === '')
      ? 'The text field in the ContentBlock object at messages.0.content.0 is blank. Add text to the text field, and try again.'
      : undefined;
  },
  ({ messages, toolConfig }) => {
    const blocks = objects(messages).flatMap(({ content }) => objects(content));
    const uses = blocks.flatMap(({ toolUse }) => (toolUse ? [objectIn(toolUse)] : []));
    if (uses.length > 0 && toolConfig === undefined)
      return 'The toolConfig field must be defined when using toolUse and toolResult content blocks.';
    if (!uses.every(({ toolUseId, name }) => FIT.test(textIn(toolUseId)) && FIT.test(textIn(name))))
      return "1 validation error detected: Value at 'messages.2.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+";
    const seals = blocks.flatMap(
      ({ reasoningContent }) => objectIn(objectIn(reasoningContent).reasoningText).signature ?? [],
    );
    return seals.every((seal) => seal === 'EqQBCkYIBx')
      ? undefined
      : 'messages.1.content.0: Invalid `signature` in `thinking` block';
  },
  ({ toolConfig }) => {
    const specs = objects(objectIn(toolConfig).tools).flatMap(({ toolSpec }) =>
      toolSpec ? [objectIn(toolSpec)] : [],
    );
    if (!specs.every(({ name }) => FIT.test(textIn(name))))
      return "Value at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint";
    if (specs.some(({ description }) => description === ''))
      return "Value at 'toolConfig.tools.1.member.toolSpec.description' failed to satisfy constraint: Member must have length greater than or equal to 1";
    return specs.every(({ inputSchema }) => objectIn(objectIn(inputSchema).json).type === 'object')
      ? undefined
      : 'The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object.';
  },
  ({ messages }) => {
    let open: readonly string[] = [];
    for (const [at, { role, content }] of objects(messages).entries()) {
      if (role !== (at % 2 === 0 ? 'user' : 'assistant'))
        return at === 0
          ? 'A conversation must start with a user message.'
          : 'messages: roles must alternate between "user" and "assistant".';
      const blocks = objects(content);
      if (blocks.length === 0) return `The content field in the Message object at messages.${at} is empty.`;
      const results = blocks.flatMap(({ toolResult }) => textIn(objectIn(toolResult).toolUseId) || []);
      const lost = open.filter((id) => !results.includes(id));
      if (lost.length > 0)
        return `Expected toolResult blocks at messages.${at}.content for the following Ids: ${lost.join()}`;
      if (results.some((id) => !open.includes(id)))
        return 'The number of toolResult blocks exceeds the number of toolUse blocks of previous turn.';
      open = blocks.flatMap(({ toolUse }) => textIn(objectIn(toolUse).toolUseId) || []);
    }
    return objects(messages).length % 2 === 1 ? undefined : 'The conversation must end with a user message.';
  },
];

export const CHAT_RULES: readonly VendorRule[] = RULES['Chat Completions'];

const MEMBERS_OF_MISTRAL = /^(role|content|tool_calls|prefix|name|tool_call_id)$/;

export const MISTRAL_RULES: readonly VendorRule[] = [
  ...CHAT_RULES,
  ({ messages }) => {
    const extra = objects(messages)
      .flatMap((message) => Object.keys(message))
      .find((name) => !MEMBERS_OF_MISTRAL.test(name));
    if (extra !== undefined) return `Extra inputs are not permitted: ${extra}`;
    const ids = objects(messages)
      .flatMap((message) => objects(message.tool_calls))
      .map(({ id }) => textIn(id));
    const wrong = ids.find((id) => !/^[a-zA-Z0-9]{9}$/.test(id));
    if (wrong !== undefined)
      return `Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.`;
    const roles = objects(messages).map(({ role }) => textIn(role));
    if (roles.some((role, at) => role === 'user' && roles[at - 1] === 'tool'))
      return "Unexpected role 'user' after role 'tool'";
    return /^(user|tool)$/.test(roles.at(-1) ?? '')
      ? undefined
      : 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant';
  },
];
