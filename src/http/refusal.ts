/** Whether the text of an error says that an address is private or loopback, and not that it cannot be reached. */
export function isAddressRefusal(text: string): boolean {
  return /(?:private|meta) IP address/.test(text);
}
