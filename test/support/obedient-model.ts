import type { JsonObject } from '../../src/core/json.js';
import { answerText, type ModelProvider, type ModelRequest } from '../../src/core/model.js';
import { call, resultsIn, say } from './scripted-model.js';
import { sendText, type TestServer } from './server.js';

/** Calls the tool that the newest message names, "TOOL {arguments}", and returns its result as text. */
export class Obedient implements ModelProvider {
  readonly id = 'obedient';
  readonly requests: ModelRequest[] = [];

  async *stream(request: ModelRequest): ReturnType<ModelProvider['stream']> {
    this.requests.push(request);
    const newest = request.messages.at(-1);
    const part = newest?.role === 'user' ? newest.parts[0] : undefined;
    const text = part?.kind === 'text' ? part.text : '';
    // Mastra writes the context and the author before a text.
    const [, tool, given] = /^(?:[^]*\nuser: )?(\w+) (\{.*\})/.exec(text) ?? [];
    const [, several] = /^call_both (\[.*\])/.exec(text) ?? [];
    const answer = several
      ? call(...(JSON.parse(several) as [string, JsonObject][]))
      : tool
        ? call([tool, JSON.parse(given!) as JsonObject])
        : say(resultsIn(request).join() || 'nothing');
    yield { type: 'text', text: answerText(answer.content) };
    yield { type: 'end', answer: await Promise.resolve(answer) };
  }

  /** The functions of the newest request. */
  offered(): readonly string[] {
    return this.requests.at(-1)!.functions.map(({ name }) => name);
  }
}

/**
 * Waits until a tool of this name is offered: a run waits three seconds for an MCP server, and a loaded machine takes
 * longer.
 */
export async function untilOffered(start: string, model: Obedient, server: TestServer): Promise<void> {
  do await sendText(server, 'hello', { agent: 'operator' });
  while (!model.offered().some((name) => name.startsWith(start)));
}
