import type { Browser } from 'playwright-core';
import { LangoError, errorText } from '../../core/errors.js';
import type { Chromium } from './chromium.js';
import type { Profile } from './profile.js';

const START_MS = 20_000;
/** Script memory of one page. */
const HEAP_MB = 512;

/** Switched off: what calls home, what leaves by another way than the proxy, what keeps something. */
const FLAGS = [
  '--headless',
  '--remote-debugging-pipe',
  '--no-startup-window',
  '--no-first-run',
  '--no-default-browser-check',
  '--no-service-autorun',
  '--no-pings',
  '--hide-scrollbars',
  '--mute-audio',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--disable-breakpad',
  '--disable-crash-reporter',
  '--disable-extensions',
  '--disable-default-apps',
  '--disable-component-update',
  '--disable-component-extensions-with-background-pages',
  '--disable-background-networking',
  '--disable-back-forward-cache',
  '--disable-client-side-phishing-detection',
  '--disable-domain-reliability',
  '--disable-field-trial-config',
  '--disable-search-engine-choice-screen',
  '--disable-dev-shm-usage',
  '--disable-notifications',
  '--disable-print-preview',
  '--deny-permission-prompts',
  '--metrics-recording-only',
  '--password-store=basic',
  '--use-mock-keychain',
  '--force-color-profile=srgb',
  '--renderer-process-limit=8',
  `--js-flags=--max-old-space-size=${HEAP_MB}`,
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  // Names are resolved by the proxy; the browser itself never asks.
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  '--disable-features=' +
    [
      'AutofillServerCommunication',
      'DialMediaRouteProvider',
      'GlobalMediaControls',
      'HttpsFirstBalancedModeAutoEnable',
      'HttpsUpgrades',
      'InterestFeedContentSuggestions',
      'MediaRouter',
      'NetworkTimeServiceQuerying',
      'OptimizationHints',
      'PreconnectToSearch',
      'Prerender2',
      'Translate',
    ].join(','),
];

/** A browser in its profile, whose only way out is the proxy at this port. Rejects with `unavailable`. */
export async function launchChromium(chromium: Chromium, profile: Profile, port: number): Promise<Browser> {
  const { chromium: playwright } = await import('playwright-core');
  const command = [
    ...profile.prefix,
    chromium.executable,
    ...FLAGS,
    `--user-data-dir=${profile.folder}`,
    `--proxy-server=http://127.0.0.1:${port}`,
    '--proxy-bypass-list=<-loopback>',
    ...(chromium.sandbox ? [] : ['--no-sandbox']),
  ];
  try {
    return await playwright.launch({
      executablePath: command[0]!,
      args: command.slice(1),
      ignoreDefaultArgs: true,
      artifactsDir: profile.artifacts,
      env: {
        PATH: '/usr/local/bin:/usr/bin:/bin',
        HOME: profile.folder,
        TMPDIR: profile.folder,
        LANG: 'C.UTF-8',
      },
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      timeout: START_MS,
    });
  } catch (error) {
    throw explained(error);
  }
}

function explained(error: unknown): LangoError {
  const isSandbox = /No usable sandbox|namespace sandbox failed|credentials\.cc|zygote_host_impl/i.test(
    errorText(error),
  );
  if (isSandbox) {
    return new LangoError('unavailable', 'Chromium cannot set up its sandbox here.', {
      cause: error,
      hint: 'Allow user namespaces (in a container: seccomp=unconfined, or a profile that lets Chromium make them). As a last resort set tools.browser.sandbox: false.',
    });
  }
  return new LangoError('unavailable', 'Chromium could not be started.', {
    cause: error,
    hint: 'Try the program by hand, and look at tools.browser.executable.',
  });
}
