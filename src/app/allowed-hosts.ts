import type { Config } from '../config/config.js';

/** The private hosts that may be reached: those of the configuration, and that of an address its operator wrote down. */
export function allowedHosts({ allowPrivate }: Config['egress'], address?: string): readonly string[] {
  return address ? [...allowPrivate, new URL(address).host] : allowPrivate;
}
