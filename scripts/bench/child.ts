/** CPU time of the process so far, user and system, in microseconds. */
export interface CpuAnswer {
  readonly cpu: number;
}

/**
 * The server's side of the line to the bench: tells the address, answers each message with its CPU time, and
 * stops on SIGTERM or when the bench is gone.
 */
export function attend(port: number, stop: () => Promise<void>): void {
  const leave = (): void => void stop().finally(() => process.exit());
  process.once('SIGTERM', leave);
  process.once('disconnect', leave);
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpu: user + system } satisfies CpuAnswer);
  });
  console.log(`ready http://127.0.0.1:${port}`);
}
