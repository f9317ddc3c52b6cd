import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import {
  isIdentifier,
  isSourceFile,
  isTypeAliasDeclaration,
  isVariableDeclaration,
  type Node,
} from 'typescript/unstable/ast';
import { API, NodeBuilderFlags, SymbolFlags, type Symbol } from 'typescript/unstable/sync';
import { packageRoot } from '../src/config/package-root.js';

/**
 * Writes api/lango.api.md: every declaration that `import … from 'lango'` exports, and every type of Lango that one of
 * them refers to. Comments are left out, as the report shows shapes only. With --check it writes nothing, and exits
 * with 1 when the report differs.
 */
const root = packageRoot();
const declarations = join(root, 'dist/src');
const report = join(root, 'api/lango.api.md');

const HEAD = `# The public surface of lango

Written by \`npm run api\` from the declarations of \`src/index.ts\`. A difference here is a change that users of the
library see: review it, and name it in the changelog. \`settingsSchema\` is in [the reference](../docs/reference/configuration.md).
`;

// The compiler's API is not stable yet: package-lock.json holds the version that this is written for.
const compiler = new API({ cwd: root });
const entry = join(declarations, 'index.d.ts');
const project = compiler.updateSnapshot({ openFiles: [entry] }).getDefaultProjectForFile(entry)!;
const { checker, emitter, program } = project;
/** How a type is written as its members. */
const WHOLE = NodeBuilderFlags.NoTruncation | NodeBuilderFlags.InTypeAlias;

await main();

async function main(): Promise<void> {
  const text = renderReport();
  if (!process.argv.includes('--check')) {
    await mkdir(join(root, 'api'), { recursive: true });
    await writeFile(report, text);
    console.log(`wrote ${report}`);
  } else if ((await readFile(report, 'utf8').catch(() => '')) !== text) {
    console.error(`The public surface differs from api/lango.api.md: run npm run api and review the change.`);
    process.exitCode = 1;
  }
}

function renderReport(): string {
  const file = program.getSourceFile(entry);
  const module = file && checker.getSymbolAtLocation(file);
  if (!module) throw new Error(`${declarations} holds no declarations: run npm run build.`);
  const exported = new Set(checker.getExportsOfModule(module).map(resolveAlias));
  const referred = reachableFrom([...exported]).filter((symbol) => !exported.has(symbol));
  return [HEAD, section('Exports', [...exported]), section('Types that the exports refer to', referred)].join(
    '\n',
  );
}

function section(title: string, symbols: readonly Symbol[]): string {
  const texts = symbols
    .map((symbol) => ({ name: symbol.name, text: declarationText(symbol) }))
    .toSorted((a, b) => (`${a.name} ${a.text}` < `${b.name} ${b.text}` ? -1 : 1))
    .map(({ text }) => text);
  return `## ${title}\n\n\`\`\`ts\n${texts.join('\n\n')}\n\`\`\`\n`;
}

function resolveAlias(symbol: Symbol): Symbol {
  return symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/**
 * The symbols and everything that their declarations refer to, in Lango's own files only. A schema of zod is not
 * followed.
 */
function reachableFrom(start: readonly Symbol[]): readonly Symbol[] {
  const found = new Set(start);
  for (const symbol of found) {
    for (const declaration of ownDeclarations(symbol)) {
      if (!isSchema(declaration) && !isOfSchema(declaration)) visit(declaration, (next) => found.add(next));
    }
  }
  return [...found];
}

function visit(node: Node, add: (symbol: Symbol) => void): void {
  if (isIdentifier(node)) {
    const symbol = checker.getSymbolAtLocation(node);
    const target = symbol && resolveAlias(symbol);
    if (target && ownDeclarations(target).length > 0) add(target);
  }
  node.forEachChild((child) => visit(child, add));
}

function isSchema(node: Node): boolean {
  return isVariableDeclaration(node) && /\bZod[A-Z]\w+</.test(node.getText());
}

/** Whether this is the type of a schema of core/event-schema.ts, which is written out. */
function isOfSchema(node: Node): boolean {
  return isTypeAliasDeclaration(node) && /\bz\.output<typeof \w+>/.test(node.getText());
}

/** Writes the type of a schema as the members that it has. */
function typeText(symbol: Symbol, node: Node): string {
  const type = checker.typeToTypeNode(checker.getDeclaredTypeOfSymbol(symbol), node, WHOLE)!;
  const text = emitter.printNode(type).replace(/\bimport\("[^"]+"\)\./g, '');
  return `type ${symbol.name} = ${text};`;
}

/**
 * Whether it is a top-level declaration in dist/src. Members and parameters are part of the text of their declaration.
 */
function ownDeclarations(symbol: Symbol): readonly Node[] {
  const nodes = symbol.declarations.flatMap((handle) => handle.resolve() ?? []);
  return nodes.filter(
    (node) =>
      node.getSourceFile().fileName.startsWith(declarations.replaceAll(sep, '/')) &&
      isSourceFile(statementOf(node).parent) &&
      (statementOf(node) === node || isVariableDeclaration(node)),
  );
}

function statementOf(node: Node): Node {
  return isVariableDeclaration(node) ? node.parent.parent : node;
}

function declarationText(symbol: Symbol): string {
  const texts = ownDeclarations(symbol).map((node) => {
    if (isSchema(node)) return `const ${symbol.name}: ZodSchema;`;
    return isOfSchema(node) ? typeText(symbol, node) : emitter.printNode(statementOf(node));
  });
  return texts.map((text) => text.replace(/^(export )?(declare )?/, '')).join('\n');
}
