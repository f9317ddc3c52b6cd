/** A rule of the sources, and the cases that fail without it. */
export interface Ablation {
  /** What the rule says, as one sentence. */
  readonly rule: string;
  /** The file of the rule, such as `src/models/conversation.ts`. */
  readonly file: string;
  /** Text that occurs once in the file. */
  readonly find: string;
  /** The text that takes its place and switches the rule off. */
  readonly replace: string;
  /** The ids of the cases that must fail then. */
  readonly red: readonly string[];
}

/** All rules for the quirks of vendors, MCP servers and peers. */
export const ABLATIONS: readonly Ablation[] = [
  {
    rule: 'No blank text is sent.',
    file: 'src/models/conversation.ts',
    find: "if (block.type === 'text') return block.text.trim() !== '';",
    replace: "if (block.type === 'text') return true;",
    red: ['blank-text-Messages'],
  },
];
