// Responds to JSON requests about an agent, one a line: {"op": NAME, ...}.
import process from 'node:process';
import { createInterface } from 'node:readline';

export async function serve(operations) {
  const { tell = operations.say } = operations;
  const both = async ({ texts }) => {
    const answers = await Promise.all(texts.map((text) => tell({ text, session: text })));
    return { answers: answers.map(({ answer }) => answer) };
  };
  const byName = { both, ...operations };
  for await (const line of createInterface({ input: process.stdin })) {
    const { op, ...given } = JSON.parse(line);
    let answer;
    try {
      answer = await byName[op](given);
    } catch (error) {
      console.error(error);
      answer = { error: String(error) };
    }
    // A framework may write to stdout too, without a line end.
    process.stdout.write(`\n${JSON.stringify(answer)}\n`);
  }
  process.exit(0);
}
