import { referencedSecrets, replaceReferences, secretReference } from '../../core/secret-reference.js';
import type { ToolContext } from '../../core/tool.js';
import type { CommandInput } from './runner.js';

const REFERENCE_START = '{{secret:';
const REFERENCE_END = '}}';

/**
 * `input` with the values of the secrets that it refers to, in its environment only: a reference in the command line
 * becomes a variable there, quoted as its place asks for. So no list of processes shows the value, and the shell
 * takes nothing in it for a command.
 */
export async function withSecrets(input: CommandInput, context: ToolContext): Promise<CommandInput> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(input.env ?? {}))
    env[name] = await context.resolveSecrets(value);
  const names = referencedSecrets(input.command);
  const variables = new Map(names.map((name, index) => [name, `LANGO_SECRET_${index + 1}`]));
  for (const [name, variable] of variables)
    env[variable] = await context.resolveSecrets(secretReference(name));
  const command = names.length === 0 ? input.command : withVariables(input.command, variables);
  return { ...input, command, env };
}

type Quote = '' | "'" | '"';

function withVariables(command: string, variables: ReadonlyMap<string, string>): string {
  let quote: Quote = '';
  let result = '';
  for (let index = 0; index < command.length;) {
    const end = command.startsWith(REFERENCE_START, index) ? command.indexOf(REFERENCE_END, index) : -1;
    const reference = end === -1 ? '' : command.slice(index, end + REFERENCE_END.length);
    const variable =
      referencedSecrets(reference)[0] && replaceReferences(reference, (name) => variables.get(name)!);
    if (variable) {
      result += expansion(variable, quote);
      index += reference.length;
      continue;
    }
    const character = command.charAt(index);
    const isEscape = character === '\\' && quote !== "'";
    if (!isEscape) quote = quoteAfter(character, quote);
    const taken = command.slice(index, index + (isEscape ? 2 : 1));
    result += taken;
    index += taken.length;
  }
  return result;
}

function quoteAfter(character: string, quote: Quote): Quote {
  if (character !== "'" && character !== '"') return quote;
  if (quote === '') return character;
  return quote === character ? '' : quote;
}

/** Inside single quotes nothing is expanded: they end before it and begin again after it. */
function expansion(variable: string, quote: Quote): string {
  if (quote === '"') return `\${${variable}}`;
  return quote === "'" ? `'"\${${variable}}"'` : `"\${${variable}}"`;
}
