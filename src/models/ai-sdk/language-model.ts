/**
 * A model of a provider package of the AI SDK, such as `google('gemini-…')`: its `LanguageModelV4`, `V3` or `V2`. Written
 * out, since its declaration is published, and programs without such a package have no types of it.
 */
export interface AiSdkModel {
  readonly specificationVersion: string;
  /** Such as "google.generative-ai". */
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}
