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

/** The place of a package, and the settings for its factory. */
export interface PackageModel {
  /** The name of the package, such as "@ai-sdk/google", or one of its entries: "@ai-sdk/google-vertex/anthropic". */
  readonly package: string;
  readonly model: string;
  /** The name of the function that makes the provider. Default: the one of the package that begins with "create". */
  readonly factory?: string | undefined;
  readonly options: Readonly<Record<string, unknown>>;
}
