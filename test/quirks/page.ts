import type { Quirk } from './quirk.js';

/** The headings of docs/reference/models.md, by the number of a class. */
const CLASSES: Readonly<Record<number, string>> = {
  1: 'Calls that a limit cut',
  2: 'Ends of outputs',
  3: 'Requests that are refused for ever',
  4: 'Members that have to go back',
  5: 'MCP tools and blocks that are odd',
  6: 'Schemas of MCP servers',
  7: 'Tasks that outgrow the window',
  8: 'Ids of calls',
  9: 'Answers without a word',
  10: 'When fallbacks are asked',
  11: 'Data of tools and of remote agents',
  12: 'Context ids of remote agents',
  13: 'Thoughts in tags',
  14: 'Parameters that a server refuses',
  15: 'The reasons of vendors',
  16: 'Overload',
  17: 'Arguments and names of calls',
  18: 'Proxies, addresses and keys',
  19: 'Packages of the AI SDK',
  20: 'Prices and windows',
  21: 'Many functions',
};

const HEAD = `# Quirks of models and servers

<!-- Written by \`npm run tools\`. Do not edit. -->

Vendors, MCP servers and remote agents depart from their own documentation and from each other. Each row is a case of
\`test/quirks\`, which sends a message to a Lango server in front of a server that is as strict and as odd as the real one.
A source is a public report, as \`owner/repository#number\` on GitHub, or a page of the vendor.
`;

/** The text of docs/reference/models.md. */
export function renderPage(quirks: readonly Quirk[]): string {
  const sections = Object.entries(CLASSES).flatMap(([number, title]) => {
    const own = quirks.filter((quirk) => quirk.class === Number(number));
    return own.length === 0 ? [] : [`## ${title}\n\n${tableOf(own)}`];
  });
  return [HEAD, ...sections].join('\n');
}

/** Cases that differ only in their vendor, their wire or a value share a row. */
function tableOf(quirks: readonly Quirk[]): string {
  const rows = Map.groupBy(quirks, ({ quirk, right }) => JSON.stringify([quirk, right]));
  const lines = [...rows.values()].map((alike) => {
    const [{ quirk, right }] = alike as [Quirk];
    const each = (member: 'vendor' | 'wire' | 'source') =>
      [...new Set(alike.map((one) => one[member]))].join(', ');
    const cells = [each('vendor'), each('wire'), quirk, right, each('source')];
    return `| ${cells.map(inCell).join(' | ')} |`;
  });
  return [
    '| vendor | over | what it does | what Lango does | source |',
    '|---|---|---|---|---|',
    ...lines,
    '',
  ].join('\n');
}

function inCell(text: string): string {
  return text.replaceAll(/[\\|<>[\]*_]/g, String.raw`\$&`).replaceAll('\n', ' ');
}
