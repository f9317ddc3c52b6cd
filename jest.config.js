import process from 'node:process';

/** `npm run campaigns` sets this. */
const isCampaign = process.env.LANGO_CAMPAIGN === '1';

/**
 * Only in campaigns: what the stock SDK does wrong, kills of the real program with a browser or a chain, what ends with
 * a browser or a burst, what waits for long time limits, the costliest inputs, and the tools that build and check a clone.
 */
const CAMPAIGNS = [
  'test/a2a/beside-stock/.*',
  'test/cli/idle-memory',
  'test/cli/local-embeddings',
  'test/cli/many-agents',
  'test/console/(chat|empty|figures|large|nodes|operators|pages|walk)',
  'test/e2e/payments',
  'test/evals/guide',
  'test/examples/packed',
  'test/e2e/replicas',
  'test/e2e/stack',
  'test/e2e/telemetry-kill',
  'test/e2e/tool-kills',
  'test/lab/(abuse|bench|chaos|command-line|corpora|fuzz|soak)',
  'test/quirks/ablations',
  'test/requirements/(event-loop|parsers)',
  'test/scripts/(build|pre-commit)',
  'test/capabilities/removal',
  'test/capabilities/browser/hold',
  'test/capabilities/browser/lifetime',
  'test/capabilities/mcp/slow-issuer',
];
/** In both: short in `npm test`, long in a campaign. */
const LENGTHENED = [
  'test/cli/secrets',
  'test/e2e/cuts',
  'test/e2e/fairness',
  'test/e2e/kill',
  'test/e2e/push-kill',
  'test/e2e/retention',
  'test/evals/live',
  'test/quirks/random-cuts',
  'test/replay/fork',
  'test/requirements/vault-stream',
  'test/scrub/scrubber',
  'test/capabilities/mcp/mcp',
  'test/storage/postgres',
];

export default {
  globalSetup: './test/support/before-tests.ts',
  testEnvironment: './test/support/environment.ts',
  testSequencer: './test/support/long-first.js',
  testRegex: isCampaign
    ? [...CAMPAIGNS, ...LENGTHENED].map((path) => `/${path}\\.test\\.ts$`)
    : ['\\.test\\.ts$'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/', ...(isCampaign ? [] : CAMPAIGNS)],
  resolver: './test/support/resolver.ts',
  testRunner: './test/support/runner.ts',
  transform: {},
  // Ends a test that hangs. It is far above what any takes, as a busy machine is several times slower.
  testTimeout: 120_000,
  // Three times the cores of a small machine: many tests wait for a process, a page or a time limit. Campaigns work more.
  maxWorkers: isCampaign ? 4 : 6,
};
