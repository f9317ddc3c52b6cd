/** The resources that the process has used since its start. */
export interface CostAnswer {
  /** CPU time, user and system, in microseconds. */
  readonly cpu: number;
  readonly statements: number;
}

/**
 * The server's side of the channel to the bench: sends the address, responds to each message with the usage of the
 * process, and stops on SIGTERM or when the bench has ended.
 */
export function attend(port: number, stop: () => Promise<void>, statements = () => 0): void {
  const leave = (): void => void stop().finally(() => process.exit());
  process.once('SIGTERM', leave);
  process.once('disconnect', leave);
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpu: user + system, statements: statements() } satisfies CostAnswer);
  });
  console.log(`ready http://127.0.0.1:${port}`);
}
